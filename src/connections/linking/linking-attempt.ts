/**
 * A link that a person begins in a browser: its state, how long it lives, and how it can end. The state is 32
 * random bytes that only the provider's page and the browser see; the store has their SHA-256.
 */
import { hash, randomBytes } from 'node:crypto'
import type { Provider } from '#contract/resources.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import { hourMs } from '#kernel/time.ts'
import type { Linking, LinkingFailure } from '#providers/linking.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'

/** A person may look for a card reader or wait for a code; the provider's page lives no longer. */
export const linkingLifeMs = hourMs

export function newState(): string {
  return randomBytes(32).toString('base64url')
}

export function hashState(state: string): Uint8Array {
  return hash('sha256', state, 'buffer')
}

/** The shape of `newState`, and of 32 bytes at all: anything else is unknown without a lookup. */
export function isState(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text)
}

/**
 * How far a link has come after its return, as the store keeps it. `waiting`: the login is saved, and the
 * consent or its accounts are not listed yet. `unread`: as `waiting`, and the provider could not be read the
 * last time. The others are ends.
 */
export type LinkingOutcome = 'waiting' | 'unread' | 'linked' | LinkingFailure

/** What a person is told of a link, whenever they ask. */
export type LinkingState =
  | {
      readonly kind: 'linked'
      readonly connections: readonly ConnectionRow[]
      /** A connection that was there before was renewed. */
      readonly isRenewal: boolean
    }
  /** The return is being read, or the provider does not list the consent or its accounts yet. */
  | {
      readonly kind: 'waiting'
      readonly attempt: LinkingName
      readonly provider: Provider
      readonly isUnread: boolean
    }
  | {
      readonly kind: 'failed'
      readonly attempt: LinkingName
      readonly provider: Provider
      readonly reason: LinkingFailure
      /** What was to be renewed; null: a new connection. */
      readonly connectionId: ConnectionId | null
    }
  /** The consent had not arrived when the hour of the link was over. */
  | { readonly kind: 'expired' }
  /** There is nothing to tell: it is not theirs or was swept, or what it linked was removed since. */
  | { readonly kind: 'over' }

/** An attempt in the address of its page: the hash of its state, from which nobody finds the state. */
export type LinkingName = string

export function toLinkingName(id: Uint8Array): LinkingName {
  return Buffer.from(id).toString('base64url')
}

/** Null: no attempt is called so. */
export function readLinkingName(name: LinkingName): Uint8Array | null {
  return isState(name) ? Buffer.from(name, 'base64url') : null
}

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
