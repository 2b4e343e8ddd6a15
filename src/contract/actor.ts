/**
 * Who makes a change, through any door. Every action takes an actor and records it in the audit; whose data
 * an actor may change is decided here, once for all actions.
 */
import type { SessionId, UserId } from '#kernel/ids.ts'
import { unreachable } from '#kernel/unreachable.ts'

export type Actor =
  | Operator
  /** A user signed in with this session. */
  | Person
  | Visitor
  | System

/** A holder of the admin token: the admin API, the command line, the sandbox commands. */
export interface Operator {
  readonly kind: 'operator'
}

/** The service itself: a read that detects a change, a sweep, the preparation of the demo. */
export interface System {
  readonly kind: 'system'
}

export interface Person {
  readonly kind: 'person'
  readonly userId: UserId
  readonly sessionId: SessionId
  /** The network address that the request came from. */
  readonly address?: string
}

/** Somebody who is not signed in, identified by network address. */
export interface Visitor {
  readonly kind: 'visitor'
  readonly address: string
}

/**
 * The browser of the person whose data they are, who pressed a button on our pages just now. Programs and
 * schedules have none, and none is ever made up.
 */
export interface PersonPresent {
  /** The browser's address, as text. */
  readonly address: string
  /** Headers that the browser sent, by their names in lower case. */
  readonly headers: Readonly<Record<string, string>>
}

/** The first argument of every action; `Who` names the kinds of actors that may call it. */
export interface By<Who extends Actor = Actor> {
  readonly actor: Who
  /** Absent: it is not a person's press on our pages. */
  readonly person?: PersonPresent
}

export const byOperator: By<Operator> = { actor: { kind: 'operator' } }
export const bySystem: By<System> = { actor: { kind: 'system' } }

/** A person may change only their own data; other users' data does not exist for them. */
export function mayActFor({ actor }: By, userId: UserId): boolean {
  switch (actor.kind) {
    case 'operator':
    case 'system':
      return true
    case 'person':
      return actor.userId === userId
    case 'visitor':
      return false
    default:
      return unreachable(actor)
  }
}

/** The network address of an actor, as far as it is known; for the audit. */
export function addressOf(actor: Actor): string | null {
  switch (actor.kind) {
    case 'person':
      return actor.address ?? null
    case 'visitor':
      return actor.address
    case 'operator':
    case 'system':
      return null
    default:
      return unreachable(actor)
  }
}

/** The actor's name in the audit. */
export function nameActor(actor: Actor): string {
  switch (actor.kind) {
    case 'operator':
      return 'admin'
    case 'person':
      return 'user'
    case 'visitor':
      return actor.address
    case 'system':
      return 'system'
    default:
      return unreachable(actor)
  }
}
