/** The page after a sign-up. Rendering only. */
import { type Html, html } from '../html.ts'
import { alertBox, doneBox } from '../layout.ts'
import { type FirstSteps, renderFirstSteps } from './first-steps.ts'

export interface WelcomeOptions {
  readonly email: string
  readonly steps: FirstSteps
  /** Made-up data was linked just now. */
  readonly isLinked: boolean
  readonly problem: string | null
}

export function renderWelcome({ email, steps, isLinked, problem }: WelcomeOptions): Html {
  return html`<h1>Your account is ready</h1>
${isLinked && doneBox('Made-up banks and a broker are linked. They hold nobody’s data.')}
${alertBox(problem)}
<p>You are signed in as <strong>${email}</strong>.</p>
${renderFirstSteps(steps) ?? renderNext()}`
}

function renderNext(): Html {
  return html`<p>Everything is set up. The <a href="/">overview</a> shows what is linked and how fresh it is; the <a href="/doc">reference</a> lists what programs can ask for. To have new rows sent to a program of yours, add a <a href="/webhooks">webhook</a>.</p>`
}
