/**
 * Sandbox mode: links a made-up person at every emulated provider to a user, so that newcomers see data
 * without an account at a bank. Each link is an ordinary one, with its own audit row.
 */
import { type By, mayActFor } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import type { UserId } from '#kernel/ids.ts'
import type { Credentials } from '#providers/credentials.ts'
import type { LinkConnections } from './link-connections.ts'

/**
 * Doing it again links nothing twice. What was linked before a failure stays linked.
 * @throws ApiError as `linkConnections` does.
 */
export type AddMadeUpData = (by: By, userId: UserId) => Promise<void>

/** Null in live mode: there are no demo users. */
export function makeAddMadeUpData(
  linkConnections: LinkConnections,
  people: readonly Credentials[],
): AddMadeUpData | null {
  if (people.length === 0) return null
  return async (by, userId) => {
    if (!mayActFor(by, userId)) throw apiError('user_not_found')
    for (const credentials of people) await linkConnections(by, userId, credentials)
  }
}
