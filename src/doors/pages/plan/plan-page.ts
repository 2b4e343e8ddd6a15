/** What a person's plan includes and what it lacks, from the table of operations. Rendering only. */
import type { PlanSummary } from '#auth/plans.ts'
import { type Operation, operations } from '#contract/operations.ts'
import { type Html, html } from '../html.ts'
import { renderMoment } from '../moments.ts'

const planNames = {
  developer: 'Developer',
  professional: 'Professional',
  none: 'None',
} as const

const statusWords = {
  active: 'active',
  trialing: 'on trial',
  past_due: 'a payment is overdue; access continues for now',
  canceled: 'canceled',
} as const

/** Where no plans are sold, and this person was given no smaller one. */
export function renderEverything(): Html {
  return html`<h1>Plan</h1>
<p>Everything that this server offers is included.</p>`
}

export function renderPlan(summary: PlanSummary, zone: string): Html {
  const { plan, status, legacy, grandfathered, mayRead, mayReadBrokerage } = summary
  const includes = ({ access }: Operation) =>
    access === 'api' ? mayRead : mayRead && mayReadBrokerage
  const given = operations.filter(includes)
  const lacking = operations.filter((operation) => !includes(operation))
  return html`<h1>Plan</h1>
<dl class="facts">
<dt>Plan</dt><dd>${planNames[plan]}</dd>
${plan !== 'none' && html`<dt>State</dt><dd>${statusWords[status]}</dd>`}
${legacy !== null && html`<dt>Former account</dt><dd>${legacy.hasEnded ? 'access ended on' : 'access until'} ${renderMoment(legacy.endsAt, zone)}</dd>`}
${grandfathered && html`<dt>Former account</dt><dd>access for programs and agents without an end</dd>`}
</dl>
<h2>Included</h2>
<ul>
<li>These pages: connections, their state and their syncs</li>
${given.map(renderOperation)}
${mayRead && html`<li>Agents, for the same data</li>`}
</ul>
${lacking.length > 0 && renderLacking(lacking, summary)}`
}

const renderOperation = ({ title, path }: Operation) =>
  html`<li>${title.replace(/^List /, '').replace(/^./, (letter) => letter.toUpperCase())} <small><code>${path}</code></small></li>`

function renderLacking(lacking: readonly Operation[], summary: PlanSummary): Html {
  return html`<h2>Not included</h2>
<ul>${lacking.map(renderOperation)}</ul>
<p>${explain(summary)} The operator of this server changes plans.</p>`
}

function explain({ plan, status, mayRead }: PlanSummary): string {
  if (!mayRead) {
    return status === 'canceled' && plan !== 'none'
      ? 'The plan was canceled, so programs and agents are refused.'
      : 'Programs and agents need a Developer or Professional plan.'
  }
  if (plan === 'professional' && status === 'trialing') {
    return 'Holdings and trades are included when the trial has ended and the Professional plan is active.'
  }
  return 'Holdings and trades need an active Professional plan.'
}
