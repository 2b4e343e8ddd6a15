/**
 * What must hold of every answer, whatever was asked: it comes in time, it is the envelope or a body of the
 * served description with its headers, it is no 5xx unless a provider was broken on purpose, it opens nothing
 * without a key and shows no caller another user's data.
 */
import type { ErrorEnvelope } from '#contract/resources.ts'
import { type AnswerChecker, makeAnswerChecker } from '#tests/support/answers.ts'
import type { DescribedOperation } from './described.ts'
import { findBrokenPromise } from './promises.ts'
import type { FuzzRequest } from './requests.ts'
import { headOf, toOriginForm } from './send.ts'
import type { Exchange, RawAnswer } from './wire.ts'
import { fingerprint, type World } from './world.ts'

/** Thrown by the judge; its message names the rule and shows the answer. */
export class Broken extends Error {
  override readonly name = 'Broken'
}

export interface Leniency {
  /** Providers were broken on purpose: the documented 503 may come. */
  readonly faults: boolean
  /** Our own outgoing budget at these providers is used up: 503 on what needs it. */
  readonly spent: readonly BudgetedProvider[]
}

export type BudgetedProvider = keyof typeof budgetedPaths

/** What the parser may refuse with; 404 is for methods that it does not know (reading R3). */
const belowHttp: readonly number[] = [400, 404, 408, 413, 431]
const brokeragePath = /^\/v1\/(?:holdings|trades)$/
/** The providers whose budget a fuzzer uses up, and what needs it: two allow few calls a day (R36). */
const budgetedPaths = {
  snaptrade: brokeragePath,
  simplefin: /^\/v1\/(?:balances|transactions)$/,
  enablebanking: /^\/v1\/(?:balances|transactions)$/,
} as const

export type Judge = (request: FuzzRequest, exchange: Exchange, leniency: Leniency) => void

export function makeJudge(world: World, operations: readonly DescribedOperation[]): Judge {
  const check = makeAnswerChecker(world.document)
  const known = new Map(operations.map((operation) => [operation.path, operation]))
  const seesOnlyItsOwn = makeTenancy(world)

  return (request, exchange, leniency) => {
    const [answer] = exchange.answers
    if (exchange.end === 'timeout') throw new Broken('no answer came in time')
    const head = headOf(world, request)
    // Whoever could not read the request does not know that it was a HEAD, and ends the connection behind the
    // body.
    const isUnread = !head.isSound && answer?.headers.connection === 'close'
    if (exchange.end === 'surplus' && !isUnread) {
      throw new Broken('bytes came that belong to no answer')
    }
    if (answer === undefined) {
      if (head.isSound) throw new Broken('the connection was closed without an answer')
      return
    }
    if (isBelowHttp(answer)) {
      if (head.isSound) throw new Broken(`a sound request was refused below HTTP: ${show(answer)}`)
      return
    }
    const target = toOriginForm(head.target)
    const [path = ''] = target.split('?', 1)
    refuseServerErrors(answer, path, leniency)
    if (!isRest(path)) return judgeOtherDoor(answer)
    judgeRest({ check, request, path, target, answer })
    const operation = known.get(path)
    if (request.method !== 'GET' || operation === undefined) return
    opensOnlyWithKey(request, path, answer)
    seesOnlyItsOwn(target, request, answer)
    if (answer.status !== 200) return
    const query = target.slice(path.length + 1)
    const broken = findBrokenPromise(operation, query, parse(answer), foreignTo(world, request))
    if (broken !== null) throw new Broken(`${broken}: ${show(answer)}`)
  }
}

/**
 * An answer to what never became a request: the envelope and the end of the connection, none of our other
 * headers.
 */
export function isBelowHttp(answer: RawAnswer): boolean {
  if (answer.headers['x-request-id'] !== undefined || answer.headers.connection !== 'close')
    return false
  // Told without its body: the answer to a HEAD that could not be read to its end.
  const isBodiless = answer.body.length === 0 && answer.headers['content-length'] !== '0'
  return belowHttp.includes(answer.status) && (isBodiless || isEnvelope(answer))
}

function isEnvelope(answer: RawAnswer): boolean {
  const { error } = parse(answer) as Partial<ErrorEnvelope>
  return typeof error?.message === 'string' && Object.keys(parse(answer)).length === 1
}

function refuseServerErrors(answer: RawAnswer, path: string, leniency: Leniency): void {
  if (answer.status < 500) return
  const { faults, spent } = leniency
  const excused = faults || spent.some((provider) => budgetedPaths[provider].test(path))
  if (answer.status !== 503 || !excused) throw new Broken(`a server error: ${show(answer)}`)
  if (!/^[1-9]\d*$/.test(answer.headers['retry-after'] ?? '')) {
    throw new Broken(`a 503 without Retry-After: ${show(answer)}`)
  }
}

function isRest(path: string): boolean {
  return path === '/v1' || path.startsWith('/v1/')
}

/**
 * Other doors have their own answers; a path that no door owns gets the envelope with `not_found` (reading
 * R4).
 */
function judgeOtherDoor(answer: RawAnswer): void {
  if (answer.status !== 404 || answer.body.length === 0) return
  const { error } = parse(answer) as Partial<ErrorEnvelope>
  if (error?.code !== 'not_found') throw new Broken(`not our not_found: ${show(answer)}`)
}

function judgeRest(parts: {
  readonly check: AnswerChecker
  readonly request: FuzzRequest
  readonly path: string
  readonly target: string
  readonly answer: RawAnswer
}): void {
  const { check, request, path, target, answer } = parts
  const body = answer.body.length === 0 ? null : parse(answer)
  // Everything behind the first question mark is query, further ones included.
  const query = target.slice(path.length + 1).replaceAll('?', '%3F')
  const asked = target.length > path.length ? `${path}?${query}` : path
  try {
    const { status, headers } = answer
    check({ method: request.method, path: asked }, { status, headers, body })
  } catch (error) {
    throw new Broken(error instanceof Error ? error.message : String(error))
  }
  for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']) {
    if (!/^\d+$/.test(answer.headers[name] ?? '')) throw new Broken(`R6: ${name} is missing`)
  }
  if (!/^(?:HIT|MISS|BYPASS)$/.test(answer.headers['x-cache'] ?? '')) {
    throw new Broken('R8: X-Cache is missing')
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function parse(answer: RawAnswer): Record<string, unknown> {
  try {
    return JSON.parse(utf8.decode(answer.body)) as Record<string, unknown>
  } catch {
    throw new Broken(`the body is no JSON in UTF-8: ${show(answer)}`)
  }
}

/** Reading R3: who may not, gets none of it. */
function opensOnlyWithKey(request: FuzzRequest, path: string, answer: RawAnswer): void {
  const allowed: Record<FuzzRequest['standing'], readonly number[] | null> = {
    good: null,
    developer: brokeragePath.test(path) ? [403] : null,
    planless: [403],
    refused: [401, 429],
  }
  const statuses = allowed[request.standing]
  if (statuses !== null && !statuses.includes(answer.status)) {
    throw new Broken(`${request.standing}, but ${show(answer)}`)
  }
}

/** No id of another user, and no row of another user's person at a provider, ever appears. */
function makeTenancy(world: World) {
  const owners = new Map<string, string>()

  return (target: string, request: FuzzRequest, answer: RawAnswer): void => {
    const caller = callerOf(request)
    if (caller === null) return
    const text = answer.body.toString()
    for (const id of foreignTo(world, request)) {
      if (!text.includes(id)) continue
      // An error may repeat a value that the caller sent; an answer never.
      if (answer.status === 200 || !target.toLowerCase().includes(id)) {
        throw new Broken(`${caller} sees ${id} of somebody else: ${show(answer)}`)
      }
    }
    if (answer.status !== 200 || !target.startsWith('/v1/transactions')) return
    const person = caller === 'own' ? 'history' : 'healthy'
    for (const { id } of (parse(answer) as { data: { id: string }[] }).data) {
      const row = fingerprint(id)
      if ((owners.get(row) ?? person) !== person) throw new Broken(`row ${id} is somebody else's`)
      owners.set(row, person)
    }
  }
}

/** The ids of everybody but the caller. */
function foreignTo(world: World, request: FuzzRequest): readonly string[] {
  const caller = callerOf(request)
  return tenants
    .filter((name) => name !== caller)
    .flatMap((name) => world.users[name]?.connections ?? [])
    .flatMap(({ id, accounts }) => [id, ...accounts])
}

const tenants = ['own', 'other', 'developer'] as const

function callerOf(request: FuzzRequest): 'own' | 'other' | 'developer' | null {
  if (request.standing === 'developer') return 'developer'
  if (request.standing !== 'good') return null
  return request.headers.some(([, value]) => value.includes('<key.other>')) ? 'other' : 'own'
}

export function show(answer: RawAnswer): string {
  const headers = JSON.stringify(answer.headers)
  return `${answer.status} ${headers.slice(0, 600)} ${answer.body.toString('latin1', 0, 400)}`
}
