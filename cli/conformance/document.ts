/**
 * Checks of the served description: it is public, it is OpenAPI 3.1, and it has the operations with their
 * parameters.
 */
import { expect } from './check.ts'
import { describe, fieldsOf } from './exchange.ts'
import { reads } from './reads.ts'
import type { CheckSession, ServerCheck, ServerChecks } from './session.ts'

const clause = 'contract, The public contract'
const noKey = { authorization: null }

type Fields = Readonly<Record<string, unknown>>

async function readDocument({ client }: CheckSession): Promise<Fields> {
  return fieldsOf((await client.ask('/openapi.json', noKey)).body)
}

/** The node that a reference points to. */
function resolve(document: Fields, node: unknown): Fields {
  const { $ref } = fieldsOf(node)
  if (typeof $ref !== 'string') return fieldsOf(node)
  const steps = $ref.replace(/^#\//, '').split('/')
  return steps.reduce<Fields>((at, step) => fieldsOf(at[step]), document)
}

const checks: readonly ServerCheck[] = [
  {
    name: '/openapi.json is OpenAPI 3.1 and needs no key',
    clause: 'R4',
    async run({ client }) {
      const answer = await client.ask('/openapi.json', noKey)
      expect(answer.status === 200, '200', describe(answer))
      const { openapi } = fieldsOf(answer.body)
      expect(/^3\.1\./.test(String(openapi)), 'openapi 3.1.x', openapi)
    },
  },
  {
    name: '/doc needs no key',
    clause: 'R4',
    async run({ client }) {
      const answer = await client.ask('/doc', noKey)
      expect(answer.status < 400, 'a page', `GET /doc → ${answer.status}`)
    },
  },
  {
    name: 'the description has the seven paths, each with GET alone',
    clause,
    async run(session) {
      const { paths } = await readDocument(session)
      const methods = /^(?:get|put|post|delete|options|head|patch|trace)$/
      for (const { path } of reads) {
        const item = fieldsOf(paths)[path]
        const found = Object.keys(fieldsOf(item)).filter((name) => methods.test(name))
        expect(found.join() === 'get', `${path} with get alone`, found.join() || 'nothing')
      }
    },
  },
  {
    name: 'the description has every query parameter, required where it is',
    clause: 'contract, Endpoints',
    async run(session) {
      const document = await readDocument(session)
      for (const { path, query } of reads) {
        const { get } = fieldsOf(fieldsOf(document.paths)[path])
        const listed = fieldsOf(get).parameters
        const parameters = (Array.isArray(listed) ? listed : []).map((one) =>
          resolve(document, one),
        )
        for (const [name, schema] of Object.entries(query.shape)) {
          const found = parameters.find((one) => one.name === name && one.in === 'query')
          expect(found !== undefined, `${path} with the parameter ${name}`, 'no such parameter')
          const isRequired = !schema.safeParse(undefined).success
          expect(
            (found.required === true) === isRequired,
            `${path}: ${name} ${isRequired ? 'required' : 'optional'}`,
            found,
          )
        }
      }
    },
  },
]

export const documentSubject: ServerChecks = { name: 'description', checks }
