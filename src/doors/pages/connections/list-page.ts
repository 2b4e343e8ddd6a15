/** The list of connections, and each as a card on the overview. Rendering only. */
import type { UnusedKey } from '#connections/linking/unused-keys.ts'
import { type ConnectionOverview, type DayRuns, pictureDays } from '#connections/overview.ts'
import type { RenewalMethod } from '#connections/renewal.ts'
import { factsOf } from '#providers/all-facts.ts'
import { type Html, html } from '../html.ts'
import { doneBox, leadingButton } from '../layout.ts'
import { renderMoment } from '../moments.ts'
import { table } from '../table.ts'
import {
  expiryOf,
  nameOf,
  pathOf,
  renderFreshness,
  renderNext,
  renderOutlook,
  renderReconnect,
  renderState,
  shownStatusOf,
} from './facts.ts'
import { summarizeNames } from './lines.ts'
import { renderPicture } from './picture.ts'

export const connectionsDone = {
  removed: 'The connection is removed, and what was kept of it here is deleted.',
  leaving:
    'The connection is removed here: nobody can read through it. Its consent could not be ended at its provider yet; that is tried again by itself, and what was kept of it here is deleted then.',
  linked: 'The connections below are linked.',
  gone: 'That connection does not exist. It was removed, or the address is wrong.',
} as const

export interface ListOptions {
  /** Those that need their owner first. */
  readonly connections: readonly ConnectionOverview[]
  readonly zone: string
  readonly now: number
  readonly done: keyof typeof connectionsDone | null
}

export function renderConnections(
  options: ListOptions & { readonly unusedKeys: readonly UnusedKey[] },
): Html {
  const { connections, unusedKeys, zone, done } = options
  return html`<h1>Connections</h1>
${doneBox(done && connectionsDone[done])}
${unusedKeys.map((key) => renderUnused(key, zone))}
${connections.length === 0 ? renderEmpty() : renderTable(options)}`
}

function renderUnused({ provider, until }: UnusedKey, zone: string): Html {
  return html`<p>Your key for ${factsOf(provider).name} is accepted, and nothing is linked with it yet. It is kept until ${renderMoment(until, zone)}: <a href="/connections/new?provider=${provider}">choose the institution</a>.</p>`
}

function renderEmpty(): Html {
  return html`<p>A connection leads to one bank or broker. Through it your programs and agents read accounts, balances and transactions; nobody can pay or change anything.</p>
${newConnectionButton('')}`
}

export const newConnectionButton = (look: string): Html =>
  html`<div class="actions">${leadingButton('/connections/new', 'Link a bank or broker', { look })}</div>`

function renderTable({ connections, zone, now }: ListOptions): Html {
  return html`${table<ConnectionOverview>(
    'Connections',
    [
      {
        name: 'Institution',
        show: ({ row }) =>
          html`<a href="${pathOf(row)}" class="foreign">${nameOf(row)}</a> <small class="place">by ${factsOf(row.provider).name}</small>`,
      },
      { name: 'State', show: renderState },
      {
        name: 'Accounts',
        show: ({ accounts, accountNames }) =>
          html`${accounts} <small class="place">${summarizeNames(accountNames)}</small>`,
      },
      {
        name: 'Next sync',
        show: (one) => [renderNext(one, { zone, now }), renderEnd(one, zone, now)],
      },
    ],
    connections,
  )}
${newConnectionButton('outline')}`
}

function renderEnd({ row }: ConnectionOverview, zone: string, now: number): Html | null {
  const end = expiryOf(row, now)
  if (end === null) return null
  return html` <small class="place">consent ${end <= now ? 'ended' : 'ends'} ${renderMoment(end, zone)}</small>`
}

export interface CardsOptions extends Omit<ListOptions, 'done'> {
  readonly formToken: string
  readonly renewalOf: (overview: ConnectionOverview) => RenewalMethod
  readonly countsOf: (overview: ConnectionOverview) => readonly DayRuns[] | undefined
}

/** Connections that need their owner, on the overview. */
export function renderCards(options: CardsOptions): Html {
  return html`<ul class="cards">${options.connections.map((one) => renderCard(one, options))}</ul>`
}

function renderCard(overview: ConnectionOverview, options: CardsOptions): Html {
  const { row } = overview
  const { isBroken, sentence } = shownStatusOf(row)
  const { zone, now, formToken } = options
  return html`<li class="card connection">
<div class="top"><h3><a href="${pathOf(row)}" class="foreign">${nameOf(row)}</a></h3><span>${renderState(overview)}</span></div>
<p class="place"><small>${summarizeNames(overview.accountNames)}</small></p>
${isBroken && html`<p>${sentence}</p>${renderReconnect({ row, renewal: options.renewalOf(overview), formToken })}`}
<dl class="facts">${renderFreshness(overview, { zone, now })}${renderOutlook(overview, { zone, now })}</dl>
${renderPicture(options.countsOf(overview), pictureDays)}
</li>`
}
