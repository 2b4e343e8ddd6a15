/**
 * Checks of refusals: which status and code each wrong request gets, what the message names, and the
 * envelope.
 */
import { randomBytes } from 'node:crypto'
import { expect, show, skip } from './check.ts'
import type { SendOptions } from './client.ts'
import { describe, errorOf, type ServerAnswer } from './exchange.ts'
import {
  type CheckSession,
  holdingsPath,
  nobodysId,
  type ServerCheck,
  type ServerChecks,
} from './session.ts'

/** A token that no server gave out; it shares no beginning with a real key. */
const madeUp = () => `conformance-${randomBytes(12).toString('hex')}`

function expectError(answer: ServerAnswer, status: number, code: string | undefined): void {
  const wanted = `${status} ${code ?? 'without code'}`
  expect(answer.status === status && errorOf(answer).code === code, wanted, describe(answer))
}

/** One wrong request, and what it is answered with. */
function refusal(
  name: string,
  clause: string,
  wanted: { readonly status: number; readonly code?: string; readonly details?: string },
  path: string | ((session: CheckSession) => Promise<string>),
): ServerCheck {
  return {
    name,
    clause,
    async run(session) {
      const answer = await session.client.ask(typeof path === 'string' ? path : await path(session))
      expectError(answer, wanted.status, wanted.code)
      const { details } = errorOf(answer)
      if (wanted.details === undefined) return
      const lines = Array.isArray(details) ? details.map(String) : []
      const isNamed = lines.some((line) => line.includes(wanted.details ?? ''))
      expect(isNamed, `details that name ${wanted.details}`, describe(answer))
    },
  }
}

function unauthorized(name: string, code: string, authorization: () => string | null): ServerCheck {
  return {
    name,
    clause: 'R5',
    async run({ client }) {
      const answer = await client.ask('/v1/accounts', { authorization: authorization() })
      expectError(answer, 401, code)
      expect(answer.headers.has('www-authenticate'), 'WWW-Authenticate', 'no such header')
    },
  }
}

const notFound = { status: 404, code: 'not_found' } as const

function unknown(name: string, path: string, sent: SendOptions = {}): ServerCheck {
  return {
    name,
    clause: 'R3, R4',
    async run({ client }) {
      const answer = await client.ask(path, sent)
      const cache = answer.headers.get('x-cache')
      // An answer to HEAD has no body.
      if (sent.method === 'HEAD') expect(answer.status === 404, '404', `HEAD → ${answer.status}`)
      else expectError(answer, notFound.status, notFound.code)
      expect(cache === 'BYPASS', 'X-Cache: BYPASS', cache)
    },
  }
}

const credentials: readonly ServerCheck[] = [
  unauthorized('no credential is 401 missing_authorization', 'missing_authorization', () => null),
  unauthorized('an unknown key is 401 invalid_token', 'invalid_token', () => `Bearer ${madeUp()}`),
  unauthorized(
    'two tokens are 401 invalid_token',
    'invalid_token',
    () => `Bearer ${madeUp()} ${madeUp()}`,
  ),
  unauthorized('another scheme is 401 invalid_token', 'invalid_token', () => `Basic ${madeUp()}`),
  unauthorized('an empty token is 401 invalid_token', 'invalid_token', () => 'Bearer'),
]

const paths: readonly ServerCheck[] = [
  unknown('an unknown path is 404 not_found', '/v1/conformance'),
  unknown('an unknown path is 404 not_found without a key too', '/v1/conformance', {
    authorization: null,
  }),
  ...['POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'].map((method) =>
    unknown(`${method} is 404 not_found`, '/v1/accounts', { method }),
  ),
  unknown('a trailing slash is another path: 404', '/v1/accounts/'),
  unknown('a doubled slash is another path: 404', '/v1//accounts'),
  unknown('other letter case is another path: 404', '/v1/Accounts'),
]

const invalid = (details: string) => ({ status: 400, code: 'invalid_params', details })

const parameters: readonly ServerCheck[] = [
  refusal('limit 0 is 400', 'R11', invalid('limit'), '/v1/accounts?limit=0'),
  refusal('a negative limit is 400', 'R11', invalid('limit'), '/v1/accounts?limit=-1'),
  refusal('a fractional limit is 400', 'R11', invalid('limit'), '/v1/accounts?limit=1.5'),
  refusal('a limit that is no number is 400', 'R11', invalid('limit'), '/v1/accounts?limit=ten'),
  refusal('a repeated limit is 400', 'R11', invalid('limit'), '/v1/accounts?limit=1&limit=1'),
  refusal('an empty limit is 400', 'R11', invalid('limit'), '/v1/accounts?limit='),
  refusal('a negative offset is 400', 'R11', invalid('offset'), '/v1/accounts?offset=-1'),
  refusal(
    'an offset above 2^31-1 is 400',
    'R11',
    invalid('offset'),
    '/v1/accounts?offset=2147483648',
  ),
  {
    name: 'unknown parameters are ignored',
    clause: 'R11',
    async run({ client }) {
      const answer = await client.ask('/v1/categories?conformance=1')
      expect(answer.status === 200, '200', describe(answer))
    },
  },
  refusal(
    'balances without accountIds are 400',
    'contract, Errors',
    invalid('accountIds'),
    '/v1/balances',
  ),
  refusal(
    'balances with nothing but commas are 400',
    'R12',
    invalid('accountIds'),
    '/v1/balances?accountIds=,,',
  ),
  refusal(
    'balances of an id that is no UUID are 400, and the details have it',
    'R12',
    invalid('no-uuid'),
    '/v1/balances?accountIds=no-uuid',
  ),
  refusal(
    'transactions without connectionId are 400',
    'contract, Errors',
    invalid('connectionId'),
    '/v1/transactions?accountId=x',
  ),
]

/** What does not exist, and what is of the other category. */
const unfit: readonly ServerCheck[] = [
  {
    name: 'an unknown connection is 404 connection_not_found, UUID or not, with the same bytes',
    clause: 'R12',
    async run({ client }) {
      const ask = (id: string) => client.ask(`/v1/transactions?connectionId=${id}&accountId=x`)
      const [first, second] = [await ask(nobodysId), await ask('no-uuid')]
      for (const answer of [first, second]) expectError(answer, 404, 'connection_not_found')
      expect(first.text === second.text, first.text, second.text)
    },
  },
  refusal(
    'an unknown account is 404 account_not_found',
    'R12',
    { status: 404, code: 'account_not_found' },
    async (session) => {
      const { connectionId } = await session.bankAccount()
      return `/v1/transactions?connectionId=${connectionId}&accountId=${nobodysId}`
    },
  ),
  refusal(
    'balances of an unknown account are 404 without code',
    'contract, Errors',
    { status: 404 },
    `/v1/balances?accountIds=${nobodysId}`,
  ),
  wrongCategory('transactions of a broker', /\/v1\/(?:trades|holdings)/, async (session) => {
    const id = await session.connectionOf('brokerage')
    return `/v1/transactions?connectionId=${id}&accountId=x`
  }),
  wrongCategory('holdings of a bank', /\/v1\/transactions/, async (session) => {
    await session.brokerage()
    return holdingsPath(await session.connectionOf('banking'))
  }),
  wrongCategory('trades of a bank', /\/v1\/transactions/, async (session) => {
    await session.brokerage()
    return `/v1/trades?connectionId=${await session.connectionOf('banking')}`
  }),
  {
    name: 'balances of a brokerage account are 400 wrong_endpoint_for_category and name it',
    clause: 'contract, Errors',
    async run(session) {
      const [id = skip('no brokerage account')] = await session.accountIds('brokerage')
      const answer = await session.client.ask(`/v1/balances?accountIds=${id}`)
      expectError(answer, 400, 'wrong_endpoint_for_category')
      expect(show(errorOf(answer).message).includes(id), `a message with ${id}`, describe(answer))
    },
  },
  {
    name: 'without the plan for brokers, holdings and trades are 403 professional_required',
    clause: 'contract, Authentication',
    async run({ client }) {
      const holdings = await client.once(holdingsPath(nobodysId))
      const trades = await client.once(`/v1/trades?connectionId=${nobodysId}`)
      if (holdings.status !== 403 && trades.status !== 403) skip('the plan has access to brokers')
      for (const answer of [holdings, trades]) expectError(answer, 403, 'professional_required')
    },
  },
]

function wrongCategory(
  what: string,
  endpoint: RegExp,
  path: (session: CheckSession) => Promise<string>,
): ServerCheck {
  return {
    name: `${what} are 400 wrong_endpoint_for_category, and the message names the right endpoint`,
    clause: 'contract, Errors',
    async run(session) {
      const answer = await session.client.ask(await path(session))
      expectError(answer, 400, 'wrong_endpoint_for_category')
      expect(endpoint.test(String(errorOf(answer).message)), String(endpoint), describe(answer))
    },
  }
}

const envelope: ServerCheck = {
  name: 'every error has a message, and code and details only where they are set',
  clause: 'contract, Error envelope',
  async run({ client }) {
    const refused = client.answers.filter(
      ({ status, method }) => status >= 400 && method !== 'HEAD',
    )
    if (refused.length === 0) skip('no error was seen')
    for (const answer of refused) {
      const { message, code, details } = errorOf(answer)
      const isCode = code === undefined || (typeof code === 'string' && code !== '')
      const isList = Array.isArray(details) && details.length > 0
      const areTexts = isList && details.every((line) => typeof line === 'string')
      const holds =
        typeof message === 'string' &&
        message !== '' &&
        isCode &&
        (details === undefined || areTexts)
      expect(holds, '{"error": {"message", "code"?, "details"?}}', describe(answer))
    }
  },
}

export const errors: ServerChecks = {
  name: 'errors',
  checks: [...credentials, ...paths, ...parameters, ...unfit],
}

/** Looks at every answer, so it runs last. */
export const envelopes: ServerChecks = { name: 'errors', checks: [envelope] }
