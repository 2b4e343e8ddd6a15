/**
 * Turns the matter of a waiting mail into a finished letter, with the facts as they are when it is sent.
 * Null: it is not needed any more (the connection works again, the link has expired), or nobody may get it
 * (the user is gone, the address of a notice is not confirmed, it is a demo user's).
 */

import { isDemoEmail } from '#contract/email.ts'
import type { Clock } from '#kernel/time.ts'
import { knownZone } from '#kernel/time.ts'
import { unreachable } from '#kernel/unreachable.ts'
import type { MailMatter } from '#store/mail-matter.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { ClaimedMail } from '#store/ports/mails.ts'
import type { StoreReader } from '#store/ports/reader.ts'
import type { UserRow } from '#store/ports/users.ts'
import {
  agentLetter,
  disabledLetter,
  expiryLetter,
  keyLetter,
  type LetterText,
  passkeyLetter,
  reconnectLetter,
  sign,
  urlLetters,
} from './letters.ts'
import type { Letter } from './mailer.ts'

export interface ComposeOptions {
  readonly store: Pick<StoreReader, 'users' | 'connections' | 'endpoints'>
  readonly clock: Clock
  /** The public origin of the pages, without a trailing slash. */
  readonly origin: () => string
  /** The zone of a user who has chosen none; an IANA name. */
  readonly defaultZone: string
}

export type Compose = (mail: ClaimedMail) => Promise<Letter | null>

export function makeCompose(options: ComposeOptions): Compose {
  return async ({ id, userId, matter }) => {
    if (matter === null) return null
    const user = userId === null ? null : await options.store.users.find(userId)
    if (userId !== null && user === null) return null
    const letter =
      'url' in matter ? writeLink(options, matter, user) : await write(options, matter, user)
    if (letter === null || isDemoEmail(letter.to)) return null
    return { id, to: letter.to, ...sign(letter, options.origin()) }
  }
}

type Addressed = LetterText & { readonly to: string }
type LinkMatter = Extract<MailMatter, { readonly url: string }>
type NoticeMatter = Exclude<MailMatter, LinkMatter>

function writeLink(
  options: ComposeOptions,
  matter: LinkMatter,
  user: UserRow | null,
): Addressed | null {
  if (matter.expiresAt <= options.clock.now()) return null
  const { host } = new URL(options.origin())
  const until = toWords(matter.expiresAt, user?.timezone ?? null)
  return { to: matter.email, ...urlLetters[matter.kind]({ host, url: matter.url, until }) }
}

async function write(
  options: ComposeOptions,
  matter: NoticeMatter,
  user: UserRow | null,
): Promise<Addressed | null> {
  if (user === null || user.emailConfirmedAt === null) return null
  const letter = await writeNotice(options, matter, user)
  return letter === null ? null : { to: user.email, ...letter }
}

/** The owner's own name for it, as on the pages. */
const nameOf = ({ label, institutionName }: ConnectionRow): string => label ?? institutionName

async function writeNotice(
  options: ComposeOptions,
  matter: NoticeMatter,
  user: UserRow,
): Promise<LetterText | null> {
  const { store, origin } = options
  switch (matter.kind) {
    case 'reconnect': {
      const row = await store.connections.find(matter.connectionId)
      if (row === null || (row.status !== 'invalidated' && row.status !== 'revoked')) return null
      const url = `${origin()}/connections/${row.id}`
      return reconnectLetter({ institution: nameOf(row), url })
    }
    case 'consent-expiry': {
      const row = await store.connections.find(matter.connectionId)
      if (row?.status !== 'active' || row.consentExpiresAt !== matter.expiresAt) return null
      if (matter.expiresAt <= options.clock.now()) return null
      const url = `${origin()}/connections/${row.id}`
      const day = toDay(matter.expiresAt, knownZone(user.timezone) ?? options.defaultZone)
      return expiryLetter({ institution: nameOf(row), day, url })
    }
    case 'endpoint-disabled': {
      const row = await store.endpoints.find(matter.endpointId)
      if (row?.health !== 'disabled') return null
      const host = URL.parse(row.url)?.host ?? row.id
      return disabledLetter({ host, reason: matter.reason, url: `${origin()}/webhooks/${row.id}` })
    }
    case 'key-created':
      return keyLetter({ ...matter, url: `${origin()}/keys` })
    case 'passkey-added':
      return passkeyLetter({ ...matter, url: `${origin()}/settings` })
    case 'agent-connected':
      return agentLetter({ ...matter, url: `${origin()}/agents` })
    default:
      return unreachable(matter)
  }
}

const months =
  'January February March April May June July August September October November December'.split(' ')

/** E.g. `29 November 2026, 10:15 (Pacific/Auckland)`; without a zone in UTC. */
function toWords(ms: number, timezone: string | null): string {
  const zone = knownZone(timezone) ?? 'UTC'
  const { hour, minute } = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone)
  const time = `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`
  return `${toDay(ms, zone)}, ${time} (${zone})`
}

function toDay(ms: number, zone: string): string {
  const { day, month, year } = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone)
  return `${day} ${months[month - 1]} ${year}`
}
