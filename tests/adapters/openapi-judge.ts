/**
 * A vendor's OpenAPI file as a judge of answers. OpenAPI 3.0 is not JSON Schema: `nullable` is
 * translated, and every object is closed, so that a field the file does not know is caught too.
 */
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'

type Json = Record<string, unknown>

/** Judges an answer by `paths[path][method]`; returns the problems, one line each. */
export interface Judge {
  /** `status` 200 unless told otherwise. */
  problems(method: string, path: string, body: unknown, status?: number): string[]
}

export function makeOpenApiJudge(document: Json): Judge {
  const ajv = new Ajv({ strict: false, allErrors: true })
  // The default export of a CommonJS module is typed as its namespace.
  const plugin = addFormats as unknown as (instance: Ajv) => void
  plugin(ajv)
  for (const format of ['decimal', 'int32']) ajv.addFormat(format, true)
  ajv.addSchema({ $id: 'https://openapi.test/api', ...(translate(document) as Json) })
  return {
    problems(method, path, body, status = 200) {
      const escaped = path.replaceAll('~', '~0').replaceAll('/', '~1')
      const pointer = `/paths/${escaped}/${method}/responses/${status}/content/application~1json/schema`
      const fragment = encodeURI(pointer)
      const validate = ajv.compile({ $ref: `https://openapi.test/api#${fragment}` })
      if (validate(body)) return []
      return (validate.errors ?? []).map(
        (error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`,
      )
    },
  }
}

function translate(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(translate)
  if (typeof node !== 'object' || node === null) return node
  const { nullable, example: _example, discriminator: _discriminator, ...rest } = node as Json
  const schema: Json = Object.fromEntries(
    Object.entries(rest).map(([key, value]) => [key, translate(value)]),
  )
  if (isObjectSchema(schema)) schema.additionalProperties ??= false
  if (nullable !== true) return schema
  return { anyOf: [schema, { type: 'null' }] }
}

/** `properties` is the name of nothing else in these files, so a map of schemas means an object. */
function isObjectSchema(schema: Json): boolean {
  return typeof schema.properties === 'object' && schema.properties !== null
}
