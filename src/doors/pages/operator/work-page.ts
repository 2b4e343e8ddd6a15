/** Providers and queues, for operators. Rendering only. */
import type { Provider } from '#contract/resources.ts'
import type { Finding } from '#doctor/finding.ts'
import { factsOf } from '#providers/all-facts.ts'
import { foreignText, type Html, html } from '../html.ts'
import { table } from '../table.ts'
import { renderFindings } from './doctor-page.ts'
import { highlight, renderUtc } from './frame-page.ts'

export interface ProviderRow {
  readonly provider: Provider
  readonly findings: readonly Finding[]
  readonly exchanges: number
  readonly failures: number
  readonly breakerOpenings: number
  readonly alerts: number
}

export function renderProviders(rows: readonly ProviderRow[]): Html {
  return html`<h1>Providers</h1>
<p>Counted by this process since its start. A budget that is used up, and a breaker that is open, are refused requests: they are counted at the person's connection as well.</p>
${table<ProviderRow>(
  'Providers',
  [
    { name: 'Provider', show: ({ provider }) => factsOf(provider).name },
    {
      name: 'Health',
      show: ({ findings }) =>
        findings.map(
          ({ status, message }) =>
            html`<span class="place">${highlight(status === 'error', foreignText(message, 300))}</span>`,
        ),
    },
    { name: 'Budget', show: ({ provider }) => describeBudget(provider) },
    { name: 'Requests', className: 'sum', show: ({ exchanges }) => exchanges },
    { name: 'Failed', className: 'sum', show: ({ failures }) => highlight(failures > 0, failures) },
    {
      name: 'Breaker opened',
      className: 'sum',
      show: ({ breakerOpenings }) => highlight(breakerOpenings > 0, breakerOpenings),
    },
    { name: 'Alerts', className: 'sum', show: ({ alerts }) => highlight(alerts > 0, alerts) },
  ],
  rows,
)}`
}

function describeBudget(provider: Provider): string {
  const { budget } = factsOf(provider)
  if (budget === null) return 'no known limit'
  const span = { 60000: 'minute', 3600000: 'hour', 86400000: 'day' }[budget.windowMs]
  return `${budget.calls} a ${span ?? 'window'}, ${budget.reserve} of them for people`
}

export interface QueueSample {
  readonly at: string
  readonly syncsDue: number | null
  readonly deliveries: number | null
  readonly mails: number | null
}

export function renderQueues(findings: readonly Finding[], samples: readonly QueueSample[]): Html {
  const count = (value: number | null) => (value === null ? 'not known' : value)
  return html`<h1>Queues</h1>
${renderFindings('Work that waits', findings)}
<h2>Over a day</h2>
<p>A look every five minutes since these pages were first opened on this process, the newest first.</p>
${table<QueueSample>(
  'Queues over a day',
  [
    { name: 'At', show: ({ at }) => renderUtc(at) },
    { name: 'Syncs due', className: 'sum', show: ({ syncsDue }) => count(syncsDue) },
    { name: 'Deliveries pending', className: 'sum', show: ({ deliveries }) => count(deliveries) },
    { name: 'Mails waiting', className: 'sum', show: ({ mails }) => count(mails) },
  ],
  samples,
)}`
}
