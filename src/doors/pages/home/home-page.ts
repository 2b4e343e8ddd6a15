/** The start page, for visitors and for signed-in people. Rendering only. */
import type { ConnectionOverview } from '#connections/overview.ts'
import { needsOwner } from '../connections/facts.ts'
import { renderLines } from '../connections/lines.ts'
import { type CardsOptions, newConnectionButton, renderCards } from '../connections/list-page.ts'
import { type Html, html } from '../html.ts'
import { icon } from '../icons.ts'
import { leadingButton } from '../layout.ts'
import { type FirstSteps, renderFirstSteps } from '../welcome/first-steps.ts'
import { makeWordFilter } from '../word-filter.ts'
import { type Needs, renderNeeds } from './needs.ts'
import { type River, renderRiver } from './river.ts'

export interface HomeOptions {
  readonly steps: FirstSteps
  readonly needs: Needs
  /** Null: there is no connection yet. */
  readonly cards: CardsOptions | null
  /** Words that the shown connections have; empty: all are shown. */
  readonly q: string
  readonly river: River
}

/** From this many connections on there is a search. */
const searchFrom = 10

export function renderSignedOutHome({ signUpIsOpen }: { readonly signUpIsOpen: boolean }): Html {
  return html`<h1>Your banks and brokers, read-only</h1>
<p>Tributary shows your balances, transactions, holdings and trades to the programs and agents you choose, and keeps none of them.</p>
<div class="actions">${signUpIsOpen && leadingButton('/sign-up', 'Create account')}${leadingButton('/sign-in', 'Sign in', { look: signUpIsOpen ? 'outline' : '' })}</div>
${picture}
<p>How it works, and how to use it: the <a href="/guides">guides</a>.</p>`
}

/** Rivers that meet, and one that leaves: what the product does, in one drawing. */
const picture = html`<svg class="confluence" viewBox="0 -4 600 172" role="img" aria-label="Banks and brokers flow into Tributary, which programs and agents read">
<g><path d="M0 24C180 24 180 70 320 70"/><path d="M0 80H320"/><path d="M0 136C180 136 180 90 320 90"/><path class="main" d="M319 80H600"/></g>
<text y="12">Everyday account</text><text y="70">Savings</text><text y="162">Shares</text><text x="600" y="58" text-anchor="end">Your programs and agents</text>
</svg>`

export function renderHome(options: HomeOptions): Html {
  const { steps, needs, cards, river } = options
  return html`<h1>Overview</h1>
${cards !== null && renderStatus(cards.connections, needs)}
${cards !== null && renderNeeds(needs, cards)}
${renderFirstSteps(steps)}
${cards !== null && renderConnections(options, cards)}
${renderRiver(river)}`
}

function renderStatus(all: readonly ConnectionOverview[], { endpoints, keys }: Needs): Html {
  const needing = all.filter(needsOwner).length
  if (needing > 0) {
    const of =
      all.length === 1
        ? 'Your connection needs you'
        : `${needing} of ${all.length} ${needing === 1 ? 'needs' : 'need'} you`
    return html`<p class="standing trouble">${icon('trouble')}<strong>${of}</strong></p>`
  }
  const others = endpoints.length + keys.length
  if (others > 0) {
    return html`<p class="standing trouble">${icon('trouble')}<strong>${others === 1 ? 'One thing needs you' : `${others} things need you`}</strong></p>`
  }
  return html`<p class="standing well">${icon('well')}<strong>All well</strong></p>`
}

function renderConnections({ q }: HomeOptions, cards: CardsOptions): Html {
  const { connections } = cards
  const isFound = makeWordFilter(q)
  const found = connections.filter((one) => isFound(textOf(one)))
  const needing = found.filter(needsOwner)
  const others = found.filter((one) => !needsOwner(one))
  return html`<h2>Connections</h2>
${connections.length >= searchFrom && renderSearch(q)}
${found.length === 0 && html`<p>No connection matches “<span class="foreign">${q}</span>”.</p>`}
${needing.length > 0 && renderCards({ ...cards, connections: needing })}
${others.length > 0 && renderLines(others, cards)}
${newConnectionButton('outline')}`
}

/** In its names or in those of its accounts. */
const textOf = ({ row, accountNames }: ConnectionOverview): string =>
  [row.label ?? '', row.institutionName, ...accountNames].join(' ')

const renderSearch = (q: string): Html =>
  html`<div role="search"><form method="get" action="/" class="search">
<label for="q">Find a connection</label>
<div class="search-row"><input id="q" name="q" type="search" value="${q}" maxlength="100" autocomplete="off">
<button type="submit" class="outline">Find</button></div>
</form></div>`
