/** The page that asks before a change that cannot be undone. */
import { type Html, type HtmlValue, html } from './html.ts'
import { hidden } from './layout.ts'

export interface QuestionOptions {
  readonly heading: string
  /** What the change means, above the form. */
  readonly sentences: HtmlValue
  /** Where the form is sent: with `decision=confirm`, or any other decision to change nothing. */
  readonly path: string
  readonly formToken: string
  /** Further fields of the form. */
  readonly fields?: HtmlValue
  readonly confirm: string
  readonly keep: string
}

export function renderQuestion(options: QuestionOptions): Html {
  const { fields } = options
  return html`<article class="card">
<h1>${options.heading}</h1>
${options.sentences}
<form method="post" action="${options.path}">
${hidden('token', options.formToken)}
${fields !== undefined && html`${fields}\n`}<div class="choices">
<button type="submit" name="decision" value="cancel" class="secondary outline" formnovalidate>${options.keep}</button>
<button type="submit" name="decision" value="confirm" class="danger">${options.confirm}</button>
</div>
</form>
</article>`
}
