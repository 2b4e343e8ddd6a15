/** The page after a sign-up. Rendering only. */
import { formUnderWay } from '../done-notes.ts'
import { type Html, html } from '../html.ts'
import { alertBox, doneBox } from '../layout.ts'
import { type FirstAnswer, renderFirstAnswer } from './first-answer.ts'
import { type FirstSteps, renderFirstSteps } from './first-steps.ts'

export interface WelcomeOptions {
  readonly email: string
  readonly steps: FirstSteps
  readonly done: keyof typeof welcomeDone | null
  readonly problem: string | null
  /** The first key, which was made just now, and what it reads; shown this once. */
  readonly first: { readonly key: string; readonly answer: FirstAnswer } | null
}

export const welcomeDone = {
  linked: 'Made-up banks and a broker are linked. They hold nobody’s data.',
  repeated:
    'That form was sent twice, and only the first one counted. A key that you did not see can be revoked.',
  under_way: formUnderWay,
} as const

export function renderWelcome({ email, steps, done, problem, first }: WelcomeOptions): Html {
  return html`<h1>Your account is ready</h1>
${doneBox(done && welcomeDone[done])}
${alertBox(problem)}
<p>You are signed in as <strong>${email}</strong>.</p>
${first !== null && renderFirstAnswer(first.key, first.answer)}
${renderFirstSteps(steps) ?? renderNext()}`
}

function renderNext(): Html {
  return html`<p>Everything is set up. The <a href="/">overview</a> shows what is linked and how fresh it is; the <a href="/doc">reference</a> lists what programs can ask for. To have new rows sent to a program of yours, add a <a href="/webhooks">webhook</a>.</p>`
}
