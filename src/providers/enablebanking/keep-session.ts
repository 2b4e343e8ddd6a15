/**
 * What is kept of a session: with which bank, until when, and the accounts with the ids by which they are
 * found again. An account that was known keeps its id over a renewal, when any of its hashes is the same.
 */
import type { AccountType } from '#contract/resources.ts'
import { parseInstant, toIso, toMillis } from '#kernel/time.ts'
import { hideNumbers } from '../account-number.ts'
import type { Identity } from '../credentials.ts'
import { UpstreamError } from '../failure.ts'
import type { CallContext, Login } from '../port.ts'
import { cutText, longestName, toShownText } from '../shown-text.ts'
import type { Application } from './application.ts'
import { nameCalls } from './bank-wait.ts'
import { judgeStatus, type Reach, readSession } from './consent.ts'
import { ended, RefusedError, refused } from './failures.ts'
import { listHashes, pairAccounts } from './pair-accounts.ts'
import { toPsuHeaders } from './psu-headers.ts'
import {
  type Bank,
  type KeptAccount,
  type KeptSession,
  nameAccount,
  nameBank,
  nameHolder,
  readSecret,
  writeSecret,
} from './secret.ts'
import { DetailsBody, type NewSession, readBody, type Session, type WireAccount } from './wire.ts'

/** A session that was opened just now, with everything that the bank tells once. */
export async function keepNewSession(
  reach: Reach,
  {
    application,
    opened,
    known,
  }: {
    readonly application: Application
    readonly opened: NewSession
    readonly known: readonly Login[]
  },
  call: CallContext,
): Promise<Identity> {
  const bank = await describeBank(reach, application, opened.aspsp, call)
  const pairs = pairAccounts(opened.accounts, listKnown(known, nameBank(application, bank)))
  const session: KeptSession = {
    id: opened.session_id,
    validUntil: readTime(opened.access?.valid_until),
    authorizedAt: reach.clock.now(),
    accounts: opened.accounts.map((account) => toKept(account, pairs.get(account))),
  }
  return toIdentity(application, { session, bank })
}

/** What ends a session that was opened just now, before anything is known of it (reading R38). */
export function toBareSession(application: Application, opened: NewSession): string {
  const { id, privateKey, isOwn } = application
  const session: KeptSession = {
    id: opened.session_id,
    validUntil: readTime(opened.access?.valid_until),
    authorizedAt: null,
    accounts: [],
  }
  return writeSecret({ application: isOwn ? { id, privateKey } : null, session, bank: null })
}

/** @throws UpstreamError `rejected` for one that is unknown or has ended. */
export async function adoptSession(
  reach: Reach,
  asked: {
    readonly application: Application
    readonly session: string
    readonly known: readonly Login[]
  },
  call: CallContext,
): Promise<Identity> {
  const { application, session: id } = asked
  const found = await readSession(reach, application, id, call).catch((error: unknown) => {
    const isGone = error instanceof RefusedError && error.failure.kind === 'consent_lost'
    throw isGone ? refused('this session is unknown or has ended', error) : error
  })
  if (judgeStatus(found.status) !== null) throw ended('invalidated', 'this session has ended')
  const bank = await describeBank(reach, application, found.aspsp, call)
  const listed = found.accounts_data ?? []
  const pairs = pairAccounts(listed, listKnown(asked.known, nameBank(application, bank)))
  const accounts = await Promise.all(
    listed.map(async (account) => {
      const known = pairs.get(account)
      // Null: it was adopted when nothing could be asked.
      const isTold = known !== undefined && known.type !== null
      if (isTold) return { ...known, ...identify(account, known) }
      return askKept(reach, { application, bank, account, known }, call)
    }),
  )
  const session: KeptSession = {
    id,
    validUntil: readTime(found.access?.valid_until),
    // Its first hour may be over: the bank is asked for what it always gives.
    authorizedAt: null,
    accounts,
  }
  return toIdentity(application, { session, bank })
}

/**
 * What the bank tells of an account once, when a session is opened, and otherwise by a call of its own, which
 * counts as one of the day. Where that fails nothing is told.
 */
async function askKept(
  reach: Reach,
  of: {
    readonly application: Application
    readonly bank: Bank
    readonly account: Hashed
    readonly known: KeptAccount | undefined
  },
  call: CallContext,
): Promise<KeptAccount> {
  const { application, bank, account, known } = of
  const own = identify(account, known)
  const calls = nameCalls({ upstreamUserId: nameBank(application, bank) }, own)
  const headers = toPsuHeaders(call, bank.requiredHeaders)
  const mayAsk =
    own.uid !== null && (headers !== null || (await reach.throttle(call, calls)).allowed)
  if (own.uid === null || !mayAsk) return { ...untold, ...own }
  const request = {
    method: 'GET',
    route: '/accounts/{id}/details',
    target: `/accounts/${encodeURIComponent(own.uid)}/details`,
    headers: headers ?? {},
    isCountedByDay: true,
  } as const
  try {
    const told = readBody(DetailsBody, await reach.client.send(application, request, call))
    return toKept({ ...told, ...account }, known)
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    reach.note(`the details of an account were not told: ${error.failure.kind}`)
    return { ...untold, ...own }
  }
}

/** ISO 8601 UTC; null: it is not told, or is no time. */
function readTime(text: string | null | undefined): string | null {
  const at = parseInstant(text ?? '')
  return at === null ? null : toIso(toMillis(at))
}

function toIdentity(
  application: Application,
  kept: { readonly session: KeptSession; readonly bank: Bank },
): Identity {
  const { id, privateKey, isOwn } = application
  return {
    upstreamUserId: nameBank(application, kept.bank),
    secret: writeSecret({ application: isOwn ? { id, privateKey } : null, ...kept }),
    isPersonal: isOwn,
    ifNothing:
      'The session has no accounts: link them in the control panel of enablebanking.com first, then give consent again.',
  }
}

/** With what the list of banks says of it; a list that cannot be read now costs the logo alone. */
async function describeBank(
  { banks }: Reach,
  application: Application,
  { name, country }: NewSession['aspsp'],
  call: CallContext,
): Promise<Bank> {
  const found = await banks
    .list(application, country, call)
    .then((list) => list.find((one) => one.name === name))
    .catch((error: unknown) => {
      if (call.signal.aborted) throw error
      return undefined
    })
  const required = found?.required_psu_headers ?? []
  return {
    name,
    country,
    logo: found?.logo ?? null,
    requiredHeaders: required.map((header) => header.toLowerCase()),
  }
}

/** The accounts of the login that this session renews. */
function listKnown(known: readonly Login[], upstreamUserId: string): readonly KeptAccount[] {
  const login = known.find((one) => one.upstreamUserId === upstreamUserId)
  return login === undefined ? [] : (readSecret(login)?.session?.accounts ?? [])
}

type Hashed = Pick<WireAccount, 'uid' | 'identification_hash' | 'identification_hashes'>

/** The id by which an account was known before, else a new one. */
function identify(account: Hashed, known: KeptAccount | undefined) {
  const id = known?.id ?? nameAccount(account.identification_hash)
  return { id, uid: account.uid ?? null, hashes: [...listHashes(account)] }
}

/** An account of which the bank tells nothing now: it has the bank's name. */
const untold = { name: null, type: null, tail: null, currency: null, holder: null } as const

function toKept(account: WireAccount, known: KeptAccount | undefined): KeptAccount {
  const name = account.details || account.product || null
  const currency = account.currency ?? null
  return {
    ...identify(account, known),
    name: name === null ? null : toName(name, account),
    type: typeOf(account),
    tail: tailOf(account),
    currency: currency === 'XXX' ? null : currency,
    holder: account.name ? nameHolder(account.name) : null,
  }
}

const toName = (name: string, account: WireAccount): string =>
  cutText(hideNumbers(toShownText(name), listNumbers(account)), longestName)

const types: Readonly<Record<string, AccountType>> = {
  CACC: 'transaction',
  CASH: 'transaction',
  CARD: 'credit-card',
  SVGS: 'savings',
  LOAN: 'loan',
}

const typeOf = ({ cash_account_type: type }: WireAccount): AccountType =>
  types[type ?? ''] ?? 'other'

/** The last four characters of its IBAN, else of its BBAN, else of its card's number. */
function tailOf({ account_id: own, all_account_ids: all }: WireAccount): string | null {
  const ids = [...(own?.other ? [own.other] : []), ...(all ?? [])]
  const byScheme = (scheme: string) =>
    ids.find(({ scheme_name: name }) => name === scheme)?.identification
  const number = own?.iban ?? byScheme('IBAN') ?? byScheme('BBAN') ?? byScheme('CPAN') ?? ''
  const plain = number.replace(/[^A-Za-z0-9]/g, '')
  return plain.length > 4 ? plain.slice(-4) : null
}

function listNumbers(account: WireAccount) {
  const { account_id: own, all_account_ids: all } = account
  const tail = tailOf(account)
  const mask = tail === null ? null : `xxxx${tail}`
  const numbers = [
    own?.iban,
    own?.other?.identification,
    ...(all ?? []).map((one) => one.identification),
  ]
  return numbers.map((number) => ({ number, mask }))
}

/**
 * The uid of an account in a session as it is now; null: the session has no such account.
 * @param kept all accounts of the login.
 */
export function findUid(
  { accounts_data: listed }: Session,
  kept: readonly KeptAccount[],
  { id }: KeptAccount,
): string | null {
  const pairs = [...pairAccounts(listed ?? [], kept)]
  return pairs.find(([, known]) => known.id === id)?.[0].uid ?? null
}
