/**
 * Connections by name in lists to choose from: a person may have several at one bank, which only their
 * accounts tell apart. Rendering only.
 */
import type { AccountRow } from '#store/ports/accounts.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { type Html, html } from '../html.ts'
import { nameOf } from './facts.ts'
import { summarizeNames } from './lines.ts'

/** The accounts of each connection in words; empty where none is known. */
export function summarizeHeld(
  accounts: readonly AccountRow[],
): (connection: Pick<ConnectionRow, 'id'>) => string {
  const held = Map.groupBy(accounts, ({ connectionId }) => connectionId)
  return ({ id }) => {
    const names = (held.get(id) ?? []).map(({ name }) => name)
    return names.length === 0 ? '' : summarizeNames(names)
  }
}

/** @param summary the words of `summarizeHeld`. */
export function renderNamed(connection: ConnectionRow, summary: string): Html {
  return html`<span class="foreign">${nameOf(connection)}</span>${summary !== '' && html` <small class="place">${summary}</small>`}`
}
