/**
 * The steps of a newcomer, until each is done: link a bank or broker, then make a key or connect an agent. A
 * part of the overview and of the page after a sign-up. Reading and rendering only.
 */
import { toKeyStatus } from '#auth/keys.ts'
import { hasApiAccess } from '#auth/plans.ts'
import type { PagesContext } from '../context.ts'
import { type Html, html } from '../html.ts'
import { hidden, leadingButton } from '../layout.ts'
import type { SignedIn } from '../visit.ts'

export interface FirstSteps {
  readonly hasConnection: boolean
  /** An active key, or an agent that is connected. */
  readonly hasReader: boolean
  /** The plan has API access; without it every program and agent is refused. */
  readonly mayRead: boolean
  /** Made-up people can be linked (sandbox mode). */
  readonly hasMadeUpData: boolean
  readonly formToken: string
}

/** What this person has done already. */
export async function readFirstSteps(
  { store, agents, plans, clock, addMadeUpData }: PagesContext,
  { user, formToken }: SignedIn,
): Promise<FirstSteps> {
  const [connections, keys, connected] = await Promise.all([
    store.connections.list(user.id),
    store.keys.list(user.id),
    agents.list(user.id),
  ])
  const hasKey = keys.some((key) => toKeyStatus(key, clock.now()) === 'active')
  return {
    hasConnection: connections.length > 0,
    hasReader: hasKey || connected.length > 0,
    mayRead: hasApiAccess(user, plans, clock.now()),
    hasMadeUpData: addMadeUpData !== null,
    formToken,
  }
}

/** Null when every step is done. */
export function renderFirstSteps(facts: FirstSteps): Html | null {
  const { hasConnection, hasReader } = facts
  if (hasConnection && hasReader) return null
  return html`<section class="card steps" aria-labelledby="first-steps">
<h2 id="first-steps">First steps</h2>
<ol>
<li><h3>Link a bank or broker${hasConnection && done}</h3>${!hasConnection && renderLinkStep(facts)}</li>
<li><h3>Create a key or connect an agent${hasReader && done}</h3>${!hasReader && renderReaderStep(facts)}</li>
</ol>
</section>`
}

const done = html` <span class="tick">done</span>`

function renderLinkStep({ hasMadeUpData, formToken }: FirstSteps): Html {
  return html`<p>You give your consent on the page of the bank, the broker or their provider. Tributary can only read.</p>
<div class="actions">
${leadingButton('/connections/new', 'Link a bank or broker')}
${hasMadeUpData && renderMadeUp(formToken)}
</div>`
}

/** The form that links the made-up people, in sandbox mode. */
function renderMadeUp(formToken: string): Html {
  return html`<form method="post" action="/welcome/made-up-data">${hidden('token', formToken)}
<button type="submit" class="secondary outline">Try with made-up data</button></form>`
}

/** The one main button of the whole list is that of the first step that is not done. */
function renderReaderStep({ hasConnection, mayRead, formToken }: FirstSteps): Html {
  const showsAnswer = hasConnection && mayRead
  const look = hasConnection && !showsAnswer ? '' : 'secondary outline'
  return html`<p>Your own programs read with a key. Agents such as Claude or ChatGPT read after you allow it.</p>
${!mayRead && html`<p>Your plan does not include access for programs and agents; the operator of this server can change it.</p>`}
<div class="actions">
${showsAnswer && html`<form method="post" action="/welcome/first-key">${hidden('token', formToken)}<button type="submit">See the first answer</button></form>`}
${leadingButton('/keys', 'Create a key', { look })}
${leadingButton('/agents', 'Connect an agent', { look: 'secondary outline' })}
</div>`
}
