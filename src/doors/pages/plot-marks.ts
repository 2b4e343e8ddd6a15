/**
 * The values of a plot, one column over each of its marks: the pointer shows the value of a column, and with
 * the keyboard the columns are one group of choices, which the arrow keys go through. A touch keeps the value
 * shown. The style sheet does it, without a script. Rendering only.
 */
import { type Html, type HtmlValue, html } from './html.ts'

export interface PlotMarks {
  /** The name of the group; no other plot of the page has the same one. */
  readonly name: string
  /** What the columns are, e.g. `Requests by day`. */
  readonly label: string
  /** From the left, all of the same width. */
  readonly values: readonly HtmlValue[]
}

/** Lays the columns over a drawing. */
export function renderMarked(drawing: Html, { name, label, values }: PlotMarks): Html {
  return html`<div class="marked">${drawing}
<fieldset class="marks"><legend>${label}</legend>${values.map((value) => html`<label><input type="radio" name="${name}"><span>${value}</span></label>`)}</fieldset>
</div>`
}
