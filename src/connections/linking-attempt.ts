/**
 * A link that a person begins in a browser: its state, how long it lives, and how it can end. The state is 32 random bytes
 * that only the provider's page and the browser see; the store has their SHA-256.
 */
import { hash, randomBytes } from 'node:crypto'
import type { Provider } from '#contract/resources.ts'
import type { ConnectionId, LoginId } from '#kernel/ids.ts'
import type { Linking, LinkingFailure } from '#providers/linking.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'

/** A person may search for a card reader, or wait for a code by post; the provider's own page lives as long or less. */
export const linkingLifeMs = 60 * 60_000

export function newState(): string {
  return randomBytes(32).toString('base64url')
}

export function hashState(state: string): Uint8Array {
  return hash('sha256', state, 'buffer')
}

/** The shape of `newState`: anything else is unknown without a lookup. */
export function isState(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text)
}

/** How a return ends. Everything but `linked`, `waiting` and `unread` changed no connection. */
export type LinkingEnd =
  /** Also for a renewal. */
  | { readonly kind: 'linked'; readonly connections: readonly ConnectionRow[] }
  /** The person agreed, and the provider does not list the consent or its accounts yet. */
  | { readonly kind: 'waiting'; readonly loginId: LoginId; readonly provider: Provider }
  /** The person agreed, and the provider cannot be read now; the login is saved. */
  | { readonly kind: 'unread'; readonly loginId: LoginId; readonly provider: Provider }
  | {
      readonly kind: 'failed'
      readonly reason: LinkingFailure
      /** What was to be renewed; null: a new connection. */
      readonly connectionId: ConnectionId | null
    }
  /** It came back before. `loginId`: its consent is still awaited. */
  | { readonly kind: 'used'; readonly loginId: LoginId | null }
  | { readonly kind: 'unknown' | 'expired' | 'other_session' }

/** Where the browser returns: our callback, with the state where the adapter finds it again. */
export function toReturnUrl(
  baseUrl: string,
  { provider, stateIn }: { readonly provider: Provider; readonly stateIn: Linking['stateIn'] },
  state: string,
): string {
  const callback = `${baseUrl}/providers/${provider}/callback`
  switch (stateIn) {
    case 'path':
      return `${callback}/${state}`
    case 'query':
      return `${callback}?state=${state}`
    case 'parameter':
      return callback
  }
}
