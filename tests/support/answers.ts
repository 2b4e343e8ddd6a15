/**
 * Validates answers of the running service with the OpenAPI document that it serves: path, method and status
 * are documented, the body matches its schema without further fields, the headers are present and valid. A
 * request that the document does not describe must be answered `not_found`. Rules that a schema cannot
 * express are here, by reading.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { errorCatalogue } from '#contract/errors.ts'

export interface AskedRequest {
  readonly method: string
  /** Path with or without its query string. */
  readonly path: string
}

type HeaderValue = string | number | readonly string[] | undefined

export interface GivenAnswer {
  readonly status: number
  readonly headers: Headers | Readonly<Record<string, HeaderValue>>
  /** Parsed JSON; null, undefined or '' where there is none (HEAD). */
  readonly body: unknown
}

/** Throws an Error that names the request and every violation. */
export type AnswerChecker = (request: AskedRequest, answer: GivenAnswer) => void

type Node = Readonly<Record<string, unknown>>

interface Rules {
  readonly documented: ReadonlyMap<string, HeaderRule>
  readonly checkBody: ValidateFunction
  /**
   * The codes of the documented errors; undefined stands for "without code". Null: the answer is no error.
   */
  readonly codes: ReadonlySet<string | undefined> | null
}

interface HeaderRule {
  readonly required: boolean
  readonly isInteger: boolean
  readonly check: ValidateFunction
}

/** Makes the checker of one document (as parsed from /openapi.json). */
export function makeAnswerChecker(document: object): AnswerChecker {
  const reader = makeReader(document as Node)
  return (request, answer) => {
    const [path = '', query = ''] = request.path.split('?', 2)
    const headers = readHeaders(answer.headers)
    const operation = request.method === 'GET' ? reader.operation(path) : null
    const problems =
      operation === null
        ? checkUnknown(reader, [request.method, path], answer, headers)
        : checkKnown(reader, operation, answer, headers)
    if (operation !== null) problems.push(...checkDeprecation(path, query, headers))
    if (problems.length === 0) return
    const body = JSON.stringify(answer.body)?.slice(0, 300)
    const title = `${request.method} ${request.path} → ${answer.status} does not fit the document`
    throw new Error([title, ...problems, `body: ${body}`].join('\n  '))
  }
}

type Reader = ReturnType<typeof makeReader>

function makeReader(document: Node) {
  const ajv = new Ajv2020({ strict: true, allErrors: true })
  addFormats.default(ajv)
  const schemas = toLocal(at(document, 'components', 'schemas'), true)
  const validators = new Map<string, ValidateFunction>()
  const rules = new Map<Node, Rules>()

  function compile(schema: unknown): ValidateFunction {
    const text = JSON.stringify(schema)
    const known = validators.get(text)
    if (known !== undefined) return known
    const made = ajv.compile({ ...(toLocal(schema, true) as Node), $defs: schemas as Node })
    validators.set(text, made)
    return made
  }

  function resolve(node: unknown): Node {
    const { $ref } = node as { $ref?: string }
    return $ref === undefined ? (node as Node) : at(document, ...$ref.slice(2).split('/'))
  }

  function makeRules(response: Node): Rules {
    const headers = Object.entries(at(response, 'headers')).map(([name, node]) => {
      const { required, schema } = resolve(node)
      const isInteger = (schema as Node).type === 'integer'
      return [name, { required: required === true, isInteger, check: compile(schema) }] as const
    })
    const media = at(response, 'content', 'application/json')
    const examples = Object.values(at(media, 'examples')).map((node) => resolve(node).value as Node)
    const errors = examples.map((value) => value.error as { code?: string } | undefined)
    return {
      documented: new Map(headers),
      checkBody: compile(media.schema),
      codes: errors.includes(undefined) ? null : new Set(errors.map((error) => error?.code)),
    }
  }

  return {
    /** Every header that some answer of the document has. */
    headerNames: new Set(
      Object.values(at(document, 'components', 'responses')).flatMap((response) =>
        Object.keys(at(resolve(response), 'headers')),
      ),
    ),
    errorSchema: compile({ $ref: '#/components/schemas/Error' }),
    operation(path: string): Node | null {
      const item = at(document, 'paths')[path] as Node | undefined
      return (item?.get as Node | undefined) ?? null
    },
    /** Null: the status is not documented. */
    rules(operation: Node, status: number): Rules | null {
      const node = at(operation, 'responses')[String(status)]
      if (node === undefined) return null
      const response = resolve(node)
      const known = rules.get(response) ?? makeRules(response)
      rules.set(response, known)
      return known
    },
  }
}

function checkKnown(
  reader: Reader,
  operation: Node,
  answer: GivenAnswer,
  headers: Headers,
): string[] {
  const rules = reader.rules(operation, answer.status)
  if (rules === null) return ['the status is not documented']
  const problems = [
    ...checkJson(headers),
    ...describe(rules.checkBody, answer.body),
    ...[...rules.documented].flatMap(([name, rule]) => checkHeader(name, rule, headers)),
  ]
  for (const name of reader.headerNames) {
    if (headers.has(name) && !rules.documented.has(name))
      problems.push(`header ${name} is not documented for this status`)
  }
  const body = answer.body as {
    error?: { code?: string; message?: string }
    pagination?: { hasMore?: boolean }
  }
  if (rules.codes !== null && !rules.codes.has(body?.error?.code))
    problems.push(`error code ${body?.error?.code ?? '(none)'} is not documented for this status`)
  const isForNow = body?.error?.message !== errorCatalogue.provider_not_configured.message
  if (answer.status === 503 && isForNow && !headers.has('retry-after'))
    problems.push('header Retry-After is missing (readings R20, R20c)')
  if (answer.status !== 200 && headers.get('x-cache') === 'HIT')
    problems.push('X-Cache is HIT, but only 200s are cached')
  if (headers.has('x-service-truncated') && body?.pagination?.hasMore !== true)
    problems.push('X-Service-Truncated is set, but hasMore is not true')
  return problems
}

/** Readings R3, R4, R6, R8: an unknown path or another method is `not_found`, and the cache is not used. */
function checkUnknown(
  reader: Reader,
  [method, path]: readonly [method: string, path: string],
  answer: GivenAnswer,
  headers: Headers,
): string[] {
  const problems: string[] = []
  if (answer.status !== 404) problems.push('the document knows no such request: 404 is due')
  if (headers.get('x-cache') !== 'BYPASS') problems.push('X-Cache must be BYPASS')
  if (path.startsWith('/v1/')) {
    for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']) {
      if (!/^\d+$/.test(headers.get(name) ?? '')) problems.push(`header ${name} is missing`)
    }
  }
  if (method === 'HEAD') return problems
  const { error } = (answer.body ?? {}) as { error?: { code?: string } }
  if (error?.code !== 'not_found') problems.push('the code must be not_found')
  return [...problems, ...checkJson(headers), ...describe(reader.errorSchema, answer.body)]
}

/** Reading R9: every request without `accountId` has the three headers, and no other. */
function checkDeprecation(path: string, query: string, headers: Headers): string[] {
  const isDue = path === '/v1/transactions' && !new URLSearchParams(query).has('accountId')
  return ['Deprecation', 'Sunset', 'Link']
    .filter((name) => headers.has(name) !== isDue)
    .map((name) => `header ${name} ${isDue ? 'is missing' : 'is out of place'}`)
}

export function checkJson(headers: Headers): string[] {
  const type = headers.get('content-type') ?? ''
  return /^application\/json(?:;|$)/.test(type) ? [] : [`content type "${type}" is not JSON`]
}

function checkHeader(name: string, rule: HeaderRule, headers: Headers): string[] {
  const text = headers.get(name)
  if (text === null) return rule.required ? [`header ${name} is missing`] : []
  const value = rule.isInteger && /^-?\d+$/.test(text) ? Number(text) : text
  return rule.check(value) ? [] : [`header ${name}: "${text}" is not valid`]
}

export function describe(check: ValidateFunction, body: unknown): string[] {
  if (check(body)) return []
  return (check.errors ?? []).slice(0, 20).map((error) => {
    const extra = (error.params as { additionalProperty?: string }).additionalProperty
    return `body${error.instancePath}: ${error.message}${extra === undefined ? '' : ` (${extra})`}`
  })
}

export function readHeaders(given: GivenAnswer['headers']): Headers {
  if (given instanceof Headers) return given
  const headers = new Headers()
  for (const [name, value] of Object.entries(given)) {
    for (const text of value === undefined ? [] : [value].flat()) headers.append(name, String(text))
  }
  return headers
}

/** A copy whose references are local to one schema, and whose objects are closed. */
export function toLocal(node: unknown, isSchema: boolean): unknown {
  if (Array.isArray(node)) return node.map((item) => toLocal(item, true))
  if (node === null || typeof node !== 'object') return node
  const entries = Object.entries(node).map(([key, value]) => [
    key,
    key === '$ref' && isSchema
      ? String(value).replace('#/components/schemas/', '#/$defs/')
      : toLocal(value, key !== 'properties'),
  ])
  const copy = Object.fromEntries(entries) as Record<string, unknown>
  const isObject = isSchema && copy.properties !== undefined && copy.type === 'object'
  return isObject ? { additionalProperties: false, ...copy } : copy
}

function at(node: Node, ...path: readonly string[]): Node {
  let current: unknown = node
  for (const key of path) current = (current as Node | undefined)?.[key]
  if (current === null || typeof current !== 'object')
    throw new Error(`the document has no ${path.join('/')}`)
  return current as Node
}
