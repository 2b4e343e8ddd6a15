/** Providers and queues, for operators. Rendering only. */
import type { Provider } from '#contract/resources.ts'
import type { Finding } from '#doctor/finding.ts'
import { factsOf } from '#providers/all-facts.ts'
import { budgetSpans, describeBudget } from '#providers/budget-words.ts'
import type { QueueSample } from '#telemetry/queue-samples.ts'
import type { ProviderStanding } from '#usage/provider-states.ts'
import { foreignText, type Html, html } from '../html.ts'
import { table } from '../table.ts'
import { renderFindings } from './doctor-page.ts'
import { highlight, renderUtc } from './frame-page.ts'

export interface ProviderRow {
  readonly provider: Provider
  readonly findings: readonly Finding[]
  /** Null: the provider is not configured. */
  readonly standing: ProviderStanding | null
  readonly exchanges: number
  readonly failures: number
  readonly alerts: number
}

export function renderProviders(rows: readonly ProviderRow[]): Html {
  return html`<h1>Providers</h1>
<p>Each connection has a breaker of its own. What is left of a budget is that of the whole installation, or of the login that has the smallest share left. Requests, failures and alerts are those of this process since its start.</p>
${table<ProviderRow>(
  'Providers',
  [
    {
      name: 'Provider',
      className: 'finding',
      show: ({ provider, findings }) =>
        html`<strong>${factsOf(provider).name}</strong>${findings.map(({ status, message }) => html` <small class="place">${highlight(status === 'error', foreignText(message, 300))}</small>`)}`,
    },
    { name: 'Breakers now', className: 'roomy', show: ({ standing }) => renderBreakers(standing) },
    { name: 'Budget now', className: 'roomy', show: renderBudget },
    { name: 'Requests', className: 'sum', show: ({ exchanges }) => exchanges },
    { name: 'Failed', className: 'sum', show: ({ failures }) => highlight(failures > 0, failures) },
    { name: 'Alerts', className: 'sum', show: ({ alerts }) => highlight(alerts > 0, alerts) },
  ],
  rows,
)}`
}

function renderBreakers(standing: ProviderStanding | null): Html {
  if (standing === null || standing.connections.seen === 0) return html`nobody is linked`
  const { connections, breakers } = standing
  const { closed, open, halfOpen, openUntil } = breakers
  const of = connections.isAll ? '' : ` of the newest ${connections.seen} connections`
  if (open + halfOpen === 0) return html`${closed} closed${of}`
  return html`${open > 0 && html`${highlight(true, `${open} open`)} until ${renderUtc(openUntil)}<br>`}${halfOpen > 0 && html`${halfOpen} half-open: the next request decides<br>`}${closed} closed${of}`
}

function renderBudget({ provider, standing }: ProviderRow): Html {
  const budget = standing?.budget ?? null
  if (budget === null) return html`${describeBudget(provider)}`
  const { calls, left, windowSeconds, isShared, logins } = budget
  const whose = isShared
    ? 'of the whole installation'
    : `at the lowest of ${logins} ${logins === 1 ? 'login' : 'logins'}`
  const words = `${left} of ${calls} left in this ${budgetSpans[windowSeconds] ?? `window of ${windowSeconds} seconds`}, ${whose}`
  return html`${highlight(left === 0, words)} <meter min="0" max="${calls}" low="${Math.floor(calls / 5)}" value="${left}" aria-label="Left at ${factsOf(provider).name}"></meter>`
}

export function renderQueues(findings: readonly Finding[], samples: readonly QueueSample[]): Html {
  return html`<h1>Queues</h1>
${renderFindings('Work that waits', findings)}
<h2>Over a day</h2>
<p>The present lengths, then a look every five minutes since this process has started.</p>
${table<QueueSample>(
  'Queues over a day',
  [
    { name: 'At', show: ({ at }) => renderUtc(at) },
    { name: 'Syncs due', className: 'sum', show: ({ syncsDue }) => syncsDue },
    { name: 'Deliveries pending', className: 'sum', show: (one) => one.deliveriesPending },
    { name: 'Mails waiting', className: 'sum', show: ({ mailsWaiting }) => mailsWaiting },
  ],
  samples,
)}`
}
