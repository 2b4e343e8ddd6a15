/**
 * What narrows a key (reading R43): the boxes and the field of the form, and in words for the list. Nothing
 * ticked means no limit of that kind. Rendering only.
 */
import { type KeyScope, keyScopes } from '#contract/key-scopes.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { KeyRow } from '#store/ports/keys.ts'
import { nameOf } from '../connections/facts.ts'
import { renderNamed, summarizeHeld } from '../connections/named.ts'
import { foreignText, type Html, type HtmlValue, html } from '../html.ts'
import { field } from '../layout.ts'

export const limitNames = ['scopes', 'connectionIds', 'accountIds', 'addresses'] as const

/** The values of the form as typed. */
export interface TypedLimits {
  readonly scopes: readonly string[]
  readonly connectionIds: readonly string[]
  readonly accountIds: readonly string[]
  readonly addresses: string
}

export interface LimitChoices {
  readonly connections: readonly ConnectionRow[]
  readonly accounts: readonly AccountRow[]
}

export interface LimitFields extends LimitChoices {
  readonly typed: TypedLimits
  readonly problems: Readonly<Partial<Record<(typeof limitNames)[number], string>>>
}

const scopeWords: Readonly<Record<KeyScope, string>> = {
  accounts: 'Connections and accounts',
  balances: 'Balances',
  transactions: 'Transactions',
  holdings: 'Holdings',
  trades: 'Trades',
  events: 'Events',
}

/** The limits as they were typed, to be checked and to be shown again. */
export function readLimits(form: URLSearchParams): TypedLimits {
  return {
    scopes: form.getAll('scopes'),
    connectionIds: form.getAll('connectionIds'),
    accountIds: form.getAll('accountIds'),
    addresses: (form.get('addresses') ?? '').trim(),
  }
}

/** The input of the action: what names nothing is no limit. */
export function toLimitsInput(typed: TypedLimits) {
  const { scopes, connectionIds, accountIds, addresses } = typed
  const lists = Object.entries({ scopes, connectionIds, accountIds })
  const named = lists.filter(([, values]) => values.length > 0)
  const list = addresses.split(/[\s,]+/).filter((address) => address !== '')
  return { ...Object.fromEntries(named), ...(list.length > 0 ? { addresses: list } : {}) }
}

/** The folded fields of the limits, open where one is filled or refused. */
export function renderLimitFields({ typed, problems, connections, accounts }: LimitFields): Html {
  const isOpen = limitNames.some((name) => typed[name].length > 0 || problems[name] !== undefined)
  const accountsOf = summarizeHeld(accounts)
  const bankOf = new Map(connections.map((row) => [row.id, nameOf(row)]))
  return html`<details${isOpen && html` open`}>
<summary>Limits</summary>
<p><small>Without a limit the key sees everything. Limits cannot be changed later.</small></p>
${renderBoxes(
  { name: 'scopes', legend: 'It may read', hint: 'None ticked: everything.' },
  {
    typed,
    problems,
    rows: keyScopes.map((scope) => [scope, scopeWords[scope]]),
  },
)}
${renderBoxes(
  {
    name: 'connectionIds',
    legend: 'At these connections',
    hint: 'None ticked: all, also those that you link later.',
  },
  {
    typed,
    problems,
    rows: connections.map((row) => [row.id, renderNamed(row, accountsOf(row))]),
  },
)}
${renderBoxes(
  {
    name: 'accountIds',
    legend: 'On these accounts',
    hint: 'None ticked: all accounts of the connections.',
  },
  {
    typed,
    problems,
    rows: accounts.map(({ id, name, connectionId }) => [
      id,
      html`<span class="foreign">${foreignText(name)}</span> <small class="place foreign">${bankOf.get(connectionId) ?? ''}</small>`,
    ]),
  },
)}
${field({ name: 'addresses', label: 'From these addresses', type: 'text', autocomplete: 'off', value: typed.addresses, isOptional: true, hint: 'IP addresses or networks such as 203.0.113.0/24, with commas between them. Empty: from anywhere', problem: problems.addresses })}
</details>`
}

interface Boxes {
  readonly name: 'scopes' | 'connectionIds' | 'accountIds'
  readonly legend: string
  readonly hint: string
}

interface BoxRows extends Pick<LimitFields, 'typed' | 'problems'> {
  readonly rows: readonly (readonly [value: string, text: HtmlValue])[]
}

function renderBoxes(
  { name, legend, hint }: Boxes,
  { typed, problems, rows }: BoxRows,
): Html | null {
  if (rows.length === 0) return null
  const ticked = new Set(typed[name])
  const problem = problems[name]
  const about = problem === undefined ? `${name}-hint` : `${name}-problem`
  return html`<fieldset aria-describedby="${about}">
<legend>${legend}</legend>
${rows.map(([value, text]) => html`<label><input type="checkbox" name="${name}" value="${value}"${ticked.has(value) && html` checked`}>${text}</label>`)}
<small id="${about}"${problem !== undefined && html` class="problem"`}>${problem ?? hint}</small>
</fieldset>`
}

/** In words; what was chosen and is gone is not counted. */
export function describeLimits(key: KeyRow, { connections, accounts }: LimitChoices): string {
  const { scopes, connectionIds, accountIds, addresses } = key
  const left = <Id extends string>(ids: readonly Id[], rows: readonly { readonly id: Id }[]) =>
    new Set(ids).intersection(new Set(rows.map(({ id }) => id))).size
  const words = [
    scopes === null ? null : scopes.map((scope) => scopeWords[scope].toLowerCase()).join(', '),
    connectionIds === null ? null : count(left(connectionIds, connections), 'connection'),
    accountIds === null ? null : count(left(accountIds, accounts), 'account'),
    addresses === null ? null : `from ${addresses.join(', ')}`,
  ]
  const known = words.filter((word) => word !== null)
  return known.length === 0 ? 'everything' : known.join('; ')
}

const count = (number: number, one: string) =>
  number === 1
    ? `1 ${one}`
    : `${number === 0 ? 'no' : number} ${one}s${number === 0 ? ' any more' : ''}`
