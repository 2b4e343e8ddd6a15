/**
 * The personal app of each person of the Akahu emulator: made by its owner at my.akahu.nz, without a secret
 * and without webhooks, for the accounts of one person. Its owner regenerates its tokens, switches
 * permissions off and limits the addresses that may use it.
 */
import { hourMs } from '#kernel/time.ts'
import type { EmulatorReply, EmulatorRequest } from '../emulator.ts'
import { refusal } from './wire.ts'

export interface PersonalApp {
  readonly appToken: string
  /** Null once it was revoked or regenerated. */
  userToken: string | null
  /** The permissions that are switched off. */
  readonly off: Set<Permission>
  /** The allow-list does not contain the caller's address. */
  isBarred: boolean
  /** When a refresh was last accepted, in milliseconds since the epoch. */
  refreshedAt: number | null
}

type Permission = 'me' | 'accounts' | 'transactions' | 'refresh'

/** The tokens of the personal app of the person of this name. */
export function toPersonalTokens(name: string) {
  const own = name.padEnd(24, '0')
  return { appToken: `app_token_pa${own}`, userToken: `user_token_pa${own}` }
}

export function makePersonalApp(name: string): PersonalApp {
  return { ...toPersonalTokens(name), off: new Set(), isBarred: false, refreshedAt: null }
}

/** Null when the app may make this request, else the refusal. */
export function refuseByApp(
  app: PersonalApp,
  request: EmulatorRequest,
  nowMs: number,
): EmulatorReply | null {
  const [kind, ...rest] = request.path.replace('/v1/', '').split('/')
  if (kind === 'webhooks') return refusal(403, 'Webhooks are not available to personal apps')
  const wanted = rest.includes('transactions') ? 'transactions' : kind
  if ([...app.off].some((permission) => permission === wanted)) {
    return refusal(403, 'This app lacks the permission for this request')
  }
  return kind === 'refresh' ? refuseRefresh(app, nowMs) : null
}

/** Documented: once an hour. What a second call within it answers is not; this is a guess. */
function refuseRefresh(app: PersonalApp, nowMs: number): EmulatorReply | null {
  if (app.refreshedAt !== null && nowMs - app.refreshedAt < hourMs) {
    return refusal(429, 'Refreshed less than an hour ago')
  }
  app.refreshedAt = nowMs
  return null
}
