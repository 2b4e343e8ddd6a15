/** The doctor's findings as a page. Rendering only. */
import type { Diagnosis, Finding } from '#doctor/finding.ts'
import { foreignText, type Html, type HtmlValue, html } from '../html.ts'
import { icon } from '../icons.ts'
import { table } from '../table.ts'
import { highlight } from './frame-page.ts'

export function renderDoctor({ status, checks }: Diagnosis): Html {
  const wrong = checks.filter((one) => one.status !== 'ok')
  const well = checks.filter((one) => one.status === 'ok')
  return html`<h1>Doctor</h1>
<p class="standing ${status === 'ok' ? 'well' : 'trouble'}">${icon(status === 'ok' ? 'well' : 'trouble')}<strong>${status === 'ok' ? 'All is well' : `${wrong.length} ${wrong.length === 1 ? 'finding needs' : 'findings need'} you`}</strong></p>
${wrong.length > 0 && renderFindings('What needs you', wrong)}
<h2>In order</h2>
${renderFindings('What is in order', well)}`
}

export function renderFindings(label: string, findings: readonly Finding[]): Html {
  return table<Finding>(
    label,
    [
      { name: 'What', className: 'finding', show: ({ name }) => foreignText(name) },
      {
        name: 'Finding',
        show: ({ message, action, status }) =>
          html`<span class="words">${highlight(status === 'error', foreignText(message, 500))}${action !== null && html` <small class="place">${renderAction(action)}</small>`}</span>`,
      },
    ],
    findings,
  )
}

/** What stands between backquotes is a command. */
function renderAction(action: string): HtmlValue {
  const parts = foreignText(action, 500).split('`')
  return parts.map((part, at) =>
    at % 2 === 1 && at < parts.length - 1 ? html`<code>${part}</code>` : part,
  )
}
