/**
 * Validates answers of the admin listener with its OpenAPI document: the status is documented, the body
 * matches its schema without further fields, an error has a code that the document names. What the document
 * does not describe (monitoring, unknown paths) is not looked at.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { makeAdminOpenApi } from '#doors/admin/openapi.ts'
import { checkJson, describe, type GivenAnswer, readHeaders, toLocal } from './answers.ts'

interface Response {
  readonly headers: object
  readonly content?: {
    readonly 'application/json': { readonly schema: object; readonly examples?: object }
  }
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: object
    readonly responses: Readonly<Record<string, Response>>
  }
}
interface Operation {
  readonly responses: Readonly<Record<string, Response & { readonly $ref?: string }>>
}
interface Envelope {
  readonly error?: { readonly code?: string }
}

const document = makeAdminOpenApi('0.0.0') as unknown as Document
const ajv = new Ajv2020({ strict: true, strictTypes: false, allErrors: true })
addFormats.default(ajv)
const schemas = toLocal(document.components.schemas, true)
const validators = new Map<string, ValidateFunction>()
const paths = Object.entries(document.paths).map(([path, item]) => ({
  pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`),
  item,
}))

/** Throws an Error that names the request and every violation. */
export function checkAdminAnswer(
  { method, url }: { readonly method: string; readonly url: string },
  answer: GivenAnswer,
): void {
  const [path = ''] = url.split('?')
  const operation = paths.find(({ pattern }) => pattern.test(path))?.item[method.toLowerCase()]
  if (operation === undefined) return
  const problems = findProblems(operation, answer)
  if (problems.length === 0) return
  const title = `${method} ${url} → ${answer.status} does not fit the document`
  const body = JSON.stringify(answer.body)?.slice(0, 300)
  throw new Error([title, ...problems, `body: ${body}`].join('\n  '))
}

function findProblems({ responses }: Operation, { status, headers, body }: GivenAnswer): string[] {
  const given = responses[String(status)]
  if (given === undefined) return ['the status is not documented']
  const name = given.$ref?.split('/').at(-1)
  const response = name === undefined ? given : document.components.responses[name]
  const media = response?.content?.['application/json']
  const all = readHeaders(headers)
  const problems = all.has('x-request-id') ? [] : ['header X-Request-Id is missing']
  if (media === undefined) return body === null ? problems : [...problems, 'there is a body']
  const codes = Object.values(media.examples ?? {}).map(
    (example: { readonly value: Envelope }) => example.value.error?.code,
  )
  const { code } = (body as Envelope).error ?? {}
  if (media.examples !== undefined && !codes.includes(code)) {
    problems.push(`error code ${code ?? '(none)'} is not documented for this status`)
  }
  return [...problems, ...checkJson(all), ...describe(compile(media.schema), body)]
}

function compile(schema: object): ValidateFunction {
  const text = JSON.stringify(schema)
  const known = validators.get(text)
  if (known !== undefined) return known
  const made = ajv.compile({ ...(toLocal(schema, true) as object), $defs: schemas as object })
  validators.set(text, made)
  return made
}
