/** The API of the Enable Banking emulator: applications, banks, authorisations and sessions. */
import { hash } from 'node:crypto'
import type { EmulatorReply, EmulatorRequest } from '../emulator.ts'
import { answerAccount } from './accounts.ts'
import { answerConsentPage, consentPath } from './consent.ts'
import { otherBanks } from './demo.ts'
import { dayMs, toSessionId } from './people.ts'
import { type BankSession, toUid } from './sessions.ts'
import { findPerson, refuse, type Site } from './site.ts'
import { judgeToken, type KnownApplication } from './token.ts'
import { toAccountResource } from './wire.ts'

export async function answer(request: EmulatorRequest, site: Site): Promise<EmulatorReply> {
  const { method, path } = request
  if (path === consentPath) return answerConsentPage(request, site)
  const { authorization } = request.headers
  const application = judgeToken(authorization, site.applications, site.clock.now())
  if (application === null) return refuse(401, 'UNAUTHORIZED_ACCESS', null, 'Invalid token')
  if (`${method} ${path}` === 'GET /application') return describe(site, application)
  const known = site.applications.find(({ id }) => id === application.id)
  if (known?.isActive === false) return refuse(403, 'UNAUTHORIZED_ACCESS', null, 'Inactive')
  if (`${method} ${path}` === 'GET /aspsps') return listBanks(request, site)
  if (`${method} ${path}` === 'POST /auth') return authorise(request, site, application)
  if (`${method} ${path}` === 'POST /sessions') return openSession(request, site, application)
  const [, kind = '', id = '', rest = ''] =
    /^\/(sessions|accounts)\/([\w-]+)(?:\/([\w/-]+))?$/.exec(path) ?? []
  if (kind === 'sessions' && rest === '') return answerSession(request, site, { application, id })
  if (kind === 'accounts' && method === 'GET') {
    const sessions = [...site.sessions.sessions.values(), ...listPrepared(site)]
    const own = sessions.filter(({ applicationId }) => applicationId === application.id)
    return answerAccount(request, site, { sessions: own, uid: id, what: rest })
  }
  return refuse(404, 'WRONG_REQUEST_PARAMETERS', null, 'No such path')
}

function describe(site: Site, { id }: KnownApplication): EmulatorReply {
  const known = site.applications.find((one) => one.id === id)
  const countries = [...new Set(listAll(site).map(({ country }) => country))].sort()
  return {
    status: 200,
    body: {
      name: 'Tributary',
      description: null,
      kid: id,
      environment: 'PRODUCTION',
      redirect_urls: site.redirectUrls ?? [
        'https://tributary.example/providers/enablebanking/callback',
        'http://127.0.0.1:3000/providers/enablebanking/callback',
        'http://localhost:3000/providers/enablebanking/callback',
      ],
      active: known?.isActive !== false,
      countries,
      services: ['AIS'],
    },
  }
}

const listAll = ({ people }: Site) => [
  ...Object.values(people).map(({ bank }) => bank),
  ...otherBanks,
]

function listBanks({ query }: EmulatorRequest, site: Site): EmulatorReply {
  const country = query.get('country')
  const banks = listAll(site).filter((bank) => country === null || bank.country === country)
  return {
    status: 200,
    body: {
      aspsps: banks.map((bank) => ({
        ...bank,
        logo: `https://enablebanking.example/brands/${bank.country}/${encodeURIComponent(bank.name)}/`,
        psu_types: ['personal'],
        auth_methods: [],
        maximum_consent_validity: 180 * 86_400,
        required_psu_headers: findPerson(site, bank)?.habits.requiredHeaders ?? null,
        beta: false,
      })),
    },
  }
}

function readJson(body: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(body)
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : {}
  } catch {
    return {}
  }
}

const allowedFields = new Set([
  ...['access', 'aspsp', 'state', 'redirect_url', 'psu_type', 'auth_method', 'credentials'],
  ...['credentials_autosubmit', 'language', 'psu_id'],
])

function authorise(
  { body, headers }: EmulatorRequest,
  site: Site,
  { id: applicationId }: KnownApplication,
): EmulatorReply {
  const asked = readJson(body)
  const strange = Object.keys(asked).find((name) => !allowedFields.has(name))
  const access = { ...(asked.access as object) } as Record<string, unknown>
  const wanted = { ...(asked.aspsp as object) } as { name?: string; country?: string }
  const bank = listAll(site).find(
    ({ name, country }) => name === wanted.name && country === wanted.country,
  )
  const now = site.clock.now()
  const text = String(access.valid_until ?? '')
  const validUntil = Date.parse(text)
  if (bank === undefined) return refuse(400, 'WRONG_ASPSP_PROVIDED')
  const isDated = /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)$/.test(text)
  if (strange !== undefined || !isDated || typeof asked.state !== 'string') {
    return refuse(422, 'WRONG_REQUEST_PARAMETERS', strange ?? 'access')
  }
  if (validUntil <= now || validUntil > now + 180 * dayMs) {
    return refuse(422, 'WRONG_REQUEST_PARAMETERS', 'valid_until')
  }
  const redirectUrl = String(asked.redirect_url)
  if (!isAllowed(site, redirectUrl)) return refuse(400, 'REDIRECT_URI_NOT_ALLOWED')
  if (asked.language !== undefined && !/^[a-z]{2}$/.test(String(asked.language))) {
    return refuse(422, 'WRONG_REQUEST_PARAMETERS', 'language')
  }
  const hasPerson = headers['psu-ip-address'] !== undefined
  const psuId = typeof asked.psu_id === 'string' ? asked.psu_id : null
  const psuIdHash = psuId === null ? null : hash('sha256', `${applicationId} ${psuId}`)
  const id = site.sessions.authorise({
    ...{ applicationId, bank, state: asked.state, redirectUrl, validUntil, hasPerson },
    psuIdHash,
  })
  const url = `${site.base()}${consentPath}?authorization=${id}`
  return { status: 200, body: { url, authorization_id: id, psu_id_hash: psuIdHash } }
}

function isAllowed({ redirectUrls }: Site, url: string): boolean {
  if (redirectUrls !== null) return redirectUrls.includes(url)
  return /^(?:https:\/\/[^/?#]+|http:\/\/(?:127\.0\.0\.1|localhost)(?::\d+)?)\/providers\/enablebanking\/callback$/.test(
    url,
  )
}

function openSession(
  { body }: EmulatorRequest,
  site: Site,
  { id }: KnownApplication,
): EmulatorReply {
  const { code } = readJson(body)
  const session = site.sessions.exchange(id, String(code))
  if (typeof session === 'string')
    return refuse(session === 'NO_ACCOUNTS_ADDED' ? 422 : 400, session)
  return {
    status: 200,
    body: {
      session_id: session.id,
      accounts: session.person.accounts.map((account) =>
        toAccountResource(account, account.isHidden === true ? null : toUid(session, account.hash)),
      ),
      aspsp: session.person.bank,
      psu_type: 'personal',
      access: toAccess(session),
    },
  }
}

const toAccess = ({ validUntil }: BankSession) => {
  const valid_until = new Date(validUntil).toISOString().replace('Z', '+00:00')
  return { accounts: null, balances: true, transactions: true, valid_until }
}

/** A session exists for each person with each application; it was authorised two hours ago. */
export function listPrepared({ people, applications, clock, sessions }: Site): BankSession[] {
  return applications.flatMap(({ id: applicationId }) =>
    Object.values(people).flatMap((person): BankSession[] => {
      const id = toSessionId(applicationId, person.name)
      if (sessions.sessions.has(id)) return []
      return [
        {
          ...{ id, applicationId, person, status: 'AUTHORIZED' },
          authorisedAt: clock.now() - 2 * 3_600_000,
          validUntil: clock.now() + 170 * dayMs,
        },
      ]
    }),
  )
}

/** Null: there is none of this application. */
export function findSession(
  site: Site,
  { application, id }: { readonly application: KnownApplication; readonly id: string },
): BankSession | null {
  const known = site.sessions.sessions.get(id) ?? listPrepared(site).find((one) => one.id === id)
  if (known === undefined || known.applicationId !== application.id) return null
  // A prepared one is kept from its first use on.
  site.sessions.sessions.set(id, known)
  return known
}

function answerSession(
  { method }: EmulatorRequest,
  site: Site,
  asked: { readonly application: KnownApplication; readonly id: string },
): EmulatorReply {
  const session = findSession(site, asked)
  if (session === null) return refuse(404, 'SESSION_DOES_NOT_EXIST')
  const { person } = session
  if (method === 'DELETE') {
    if (session.status !== 'AUTHORIZED') return refuse(400, 'WRONG_SESSION_STATUS')
    session.status = 'CLOSED'
    return { status: 200, body: { message: 'OK' } }
  }
  if (method !== 'GET') return refuse(405, 'WRONG_REQUEST_PARAMETERS')
  const ended = person.ended?.isSilent === true ? undefined : person.ended
  const isOver = session.validUntil <= site.clock.now()
  const status =
    ended === undefined
      ? isOver
        ? 'EXPIRED'
        : session.status
      : ended.error.replace('_SESSION', '')
  const readable = person.accounts.filter(({ isHidden }) => isHidden !== true)
  return {
    status: 200,
    body: {
      status,
      accounts: readable.map(({ hash }) => toUid(session, hash)),
      accounts_data: readable.map(({ hash, hashes = [] }) => ({
        uid: toUid(session, hash),
        identification_hash: hash,
        identification_hashes: [hash, ...hashes],
      })),
      aspsp: person.bank,
      psu_type: 'personal',
      psu_id_hash: session.psuIdHash ?? null,
      access: toAccess(session),
      created: new Date(session.authorisedAt).toISOString(),
      authorized: new Date(session.authorisedAt).toISOString(),
      closed: null,
    },
  }
}
