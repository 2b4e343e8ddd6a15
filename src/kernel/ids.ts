/**
 * Branded identifiers: a connection's id can never be passed where an account's is wanted. Ids are parsed at the doors
 * and never cast inside.
 */
import { randomUUID } from 'node:crypto'

declare const brand: unique symbol
type Id<Name extends string> = string & { readonly [brand]: Name }

export type UserId = Id<'user'>
export type KeyId = Id<'key'>
export type LoginId = Id<'login'>
export type SessionId = Id<'session'>
export type ConnectionId = Id<'connection'>
export type AccountId = Id<'account'>
/** An identifier that a provider made up: opaque, never parsed, never shown unless the contract says so. */
export type UpstreamId = Id<'upstream'>

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** The canonical lower-case form of a UUID in any case (reading R12), or null when the text is none. */
export function parseUuid<Name extends Id<string>>(text: string): Name | null {
  if (text.length !== 36) return null
  const lower = text.toLowerCase()
  return uuidPattern.test(lower) ? (lower as Name) : null
}

/** A new random id (UUID version 4). */
export function newId<Name extends Id<string>>(): Name {
  return randomUUID() as string as Name
}

/** Marks a provider's own identifier. The empty text is no identifier. */
export function upstreamId(text: string): UpstreamId {
  if (text === '') throw new Error('an upstream id is empty')
  return text as UpstreamId
}
