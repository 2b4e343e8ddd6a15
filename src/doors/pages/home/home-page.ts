/** The start page, for visitors and for signed-in people. Rendering only. */
import type { UserRow } from '#store/ports/users.ts'
import { type CardsOptions, renderCards } from '../connections/list-page.ts'
import { type Html, html } from '../html.ts'
import { type FirstSteps, renderFirstSteps } from '../welcome/first-steps.ts'

export interface HomeOptions {
  readonly user: UserRow
  readonly steps: FirstSteps
  /** Null: there is no connection yet. */
  readonly cards: CardsOptions | null
}

export function renderSignedOutHome({ signUpIsOpen }: { readonly signUpIsOpen: boolean }): Html {
  return html`<h1>Your banks and brokers, read-only</h1>
<p>Tributary shows your balances, transactions, holdings and trades to the programs and agents you choose, and keeps none of them.</p>
<p><a href="/sign-in">Sign in</a>${signUpIsOpen && html` or <a href="/sign-up">create an account</a>`}.</p>`
}

export function renderHome({ user: { name, email }, steps, cards }: HomeOptions): Html {
  return html`<h1>Overview</h1>
<p>Signed in as ${name !== null && html`<strong>${name}</strong>, `}<strong>${email}</strong>.</p>
${renderFirstSteps(steps)}
${cards !== null && renderCards(cards)}`
}
