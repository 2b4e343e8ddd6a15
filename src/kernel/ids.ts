/**
 * Branded identifiers: the compiler rejects a connection id where an account id is wanted. The doors parse
 * ids; no other code casts them.
 */
import { randomUUID, randomUUIDv7 } from 'node:crypto'

declare const brand: unique symbol
type Id<Name extends string> = string & { readonly [brand]: Name }

export type UserId = Id<'user'>
export type KeyId = Id<'key'>
export type PasskeyId = Id<'passkey'>
export type ProgramId = Id<'program'>
export type LoginId = Id<'login'>
export type SessionId = Id<'session'>
export type ConnectionId = Id<'connection'>
export type AccountId = Id<'account'>
export type SyncRunId = Id<'sync run'>
/** A webhook endpoint: where a receiver gets events. */
export type EndpointId = Id<'endpoint'>
/** A consumer: who fetches events by a name of its own (reading R42). */
export type ConsumerId = Id<'consumer'>
/** A user's sequence of events; another one begins with a new ledger. */
export type FeedId = Id<'feed'>
export type EventId = Id<'event'>
/** A change of a connection whose event is not accepted yet. */
export type WaitingEventId = Id<'waiting event'>
export type ProviderCallId = Id<'provider call'>
/** One event for one endpoint, with all its attempts. */
export type DeliveryId = Id<'delivery'>
export type MailId = Id<'mail'>
/** An identifier issued by a provider: opaque, never parsed, and shown only where the contract says so. */
export type UpstreamId = Id<'upstream'>

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** The canonical lower-case form of a UUID given in any case (reading R12); null when it is none. */
export function parseUuid<Name extends Id<string>>(text: string): Name | null {
  if (text.length !== 36) return null
  const lower = text.toLowerCase()
  return uuidPattern.test(lower) ? (lower as Name) : null
}

/** A new random id (UUID version 4). */
export function newId<Name extends Id<string>>(): Name {
  return randomUUID() as string as Name
}

/**
 * A new id of a row among many that come and go in the order of time (UUID version 7, RFC 9562): rows that
 * are made together are together in the indexes, so that a transaction changes few pages. It shows when it
 * was made, to the millisecond. Nothing may rely on the order.
 */
export function newTimedId<Name extends Id<string>>(): Name {
  return randomUUIDv7() as string as Name
}

/** Brands a provider's identifier. @throws Error for the empty text. */
export function upstreamId(text: string): UpstreamId {
  if (text === '') throw new Error('an upstream id is empty')
  return text as UpstreamId
}
