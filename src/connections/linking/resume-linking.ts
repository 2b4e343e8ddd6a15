/**
 * Looks again for a consent that a person gave in a browser and that had not arrived, or could not be read:
 * when they ask, and when the provider's webhook reports it although the browser never returned. Without an
 * open attempt nothing is adopted, because people decide what is linked.
 */
import { type By, bySystem, mayActFor, type Person } from '#contract/actor.ts'
import { minuteMs } from '#kernel/time.ts'
import { openLogin } from '#store/open-login.ts'
import type { LinkingRow } from '#store/ports/linkings.ts'
import type { LoginRef } from '#store/ports/logins.ts'
import { type AskOptions, limitTime } from '../ask-provider.ts'
import { isTooMany } from '../held-bounds.ts'
import type { ActionOptions } from '../options.ts'
import { inTime, turnAt } from '../turns.ts'
import { type LinkingName, type LinkingState, readLinkingName } from './linking-attempt.ts'
import { failLinking } from './linking-failed.ts'
import { readState } from './linking-state.ts'
import { discoverAndAdopt, type OpenLinking, readConsents } from './read-consents.ts'

/** What has become of a link; an open one asks the provider once more. It waits a moment at most. */
export type ResumeLinking = (by: By<Person>, attempt: LinkingName) => Promise<LinkingState>

/** A page that waits asks every few seconds; a provider is asked no more often than this for one login. */
const looks = { most: 40, withinMs: 10 * minuteMs }

export function makeResumeLinking(options: ActionOptions): ResumeLinking {
  return async (by, name) => {
    const id = readLinkingName(name)
    const row = id === null ? null : await options.store.linkings.find(id)
    if (row === null || !mayActFor(by, row.userId)) return { kind: 'over' }
    if (isReturned(options, row)) {
      const look = (stop: AbortSignal) => lookAgain(options, by, { row, stop })
      await options.late.begin(`linking ${name}`, look)
    }
    return readState(options, row.id)
  }
}

/** Whether its return was read. Another process may read it; after twice its time that one has ended. */
function isReturned({ clock, timeoutMs }: ActionOptions, { usedAt, outcome }: LinkingRow): boolean {
  if (usedAt === null) return false
  return outcome !== null || clock.now() - usedAt > 2 * timeoutMs
}

interface Look {
  readonly row: LinkingRow
  readonly stop: AbortSignal
}

function lookAgain(options: ActionOptions, by: By<Person>, { row, stop }: Look): Promise<void> {
  return options.queue.take(turnAt(row), async () => {
    const current = await options.store.linkings.find(row.id)
    const open = await findOpen(options, current)
    if (open === null) return
    if (open === 'without_login' || isLost(options, current)) {
      return failLinking(options, by, { attempt: row, reason: 'interrupted', code: null })
    }
    const key = `linking-look:${open.login.id}` as const
    const { allowed } = await options.windows.take(key, looks.most, looks.withinMs)
    if (allowed)
      await readConsents(options, by, open, limitTime(options, { priority: 'user', stop }))
  })
}

/**
 * The return was to bring the login or its new secret, and the process that read it has ended: what the link
 * was begun with, a renewal's former secret, says nothing of the new consent.
 */
function isLost({ adapters }: ActionOptions, row: LinkingRow | null): boolean {
  if (row === null || row.outcome !== null) return false
  const { linking } = adapters[row.provider] ?? {}
  return linking !== undefined && linking.register === undefined
}

/**
 * Adopts what an open attempt of the login waits for. Returns the number of connections; 0 without such an
 * attempt.
 * @throws UpstreamError when the provider cannot be read, ApiError `provider_unavailable` when the turn does
 *   not come in time; it sends the webhook again.
 */
export function adoptAwaited(
  options: ActionOptions,
  login: LoginRef,
  askOptions: AskOptions,
): Promise<number> {
  return inTime(options, { key: turnAt(login), kind: 'link' }, askOptions, async () => {
    const row = await options.store.linkings.findOpen(login.id, options.clock.now())
    const open = await findOpen(options, row)
    if (open === null || open === 'without_login') return 0
    try {
      await discoverAndAdopt(options, bySystem, open, askOptions)
    } catch (error) {
      // The person reads it on the page of the link; the provider can do nothing.
      if (isTooMany(error)) return 0
      throw error
    }
    return (await options.store.connections.listByLogin(login.id)).length
  })
}

/** Null: it has ended, has expired, or its login is gone. */
async function findOpen(
  { store, clock }: ActionOptions,
  attempt: LinkingRow | null,
): Promise<OpenLinking | 'without_login' | null> {
  if (attempt === null || attempt.endedAt !== null || attempt.expiresAt <= clock.now()) return null
  if (attempt.loginId === null) return 'without_login'
  const login = await openLogin(store, attempt.loginId)
  return login === null || login === 'damaged' ? null : { attempt, login }
}
