/**
 * Writes the types of the client libraries from docs/openapi.json: `types.d.ts` of TypeScript and
 * `_models.py` of Python. With `--check` it only compares, and exits 1 on drift. It writes types alone: what
 * runs is written by hand in sdk/.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'

/** The part of JSON Schema that the document uses. */
const Schema = z.looseObject({
  $ref: z.string().optional(),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  get anyOf() {
    return z.array(Schema).optional()
  },
  get items() {
    return Schema.optional()
  },
  get properties() {
    return z.record(z.string(), Schema).optional()
  },
  required: z.array(z.string()).optional(),
  enum: z.array(z.union([z.string(), z.null()])).optional(),
  const: z.string().optional(),
  pattern: z.string().optional(),
  format: z.string().optional(),
  description: z.string().optional(),
})
type Schema = z.infer<typeof Schema>

const Document = z.looseObject({
  components: z.looseObject({
    schemas: z.record(z.string(), Schema),
    examples: z.record(z.string(), z.looseObject({ value: z.unknown() })),
  }),
})

const root = join(import.meta.dirname, '..')
const document = Document.parse(JSON.parse(readFileSync(join(root, 'docs/openapi.json'), 'utf8')))
const { schemas, examples } = document.components
const head = 'Written by scripts/sdk.ts from docs/openapi.json: change the contract, not this file.'

/** Pages and the error envelope are the library's own classes. */
const models = Object.entries(schemas).filter(([name]) => !/(?:List|Page)$|^Error$/.test(name))
const events = models.filter(([, { properties }]) => properties?.api_version !== undefined)
const codes = Object.values(examples).flatMap(({ value }) => {
  const found = z.object({ error: z.object({ code: z.string() }) }).safeParse(value)
  return found.success ? [found.data.error.code] : []
})
const errorCodes = [...new Set(codes)].sort()

const nameOf = (ref: string) => ref.slice(ref.lastIndexOf('/') + 1)
const isDecimal = ({ pattern }: Schema) => pattern?.includes('(?:\\.[0-9]+)?') === true
/** Whole numbers of the smallest unit: they may have more digits than a float keeps. */
const isMinorUnits = (name: string, { type }: Schema) => name === 'amount' && type === 'integer'
const quote = (text: string) => `'${text}'`
const describe = ({ description, $ref, anyOf }: Schema): string => {
  if (description !== undefined) return description.replaceAll('\n', ' ')
  const ref = $ref ?? anyOf?.find((one) => one.$ref !== undefined)?.$ref
  return ref === undefined ? '' : describe(schemas[nameOf(ref)] ?? {})
}

/** The kinds of a schema without null, and whether null is one of them. */
function splitNull(schema: Schema): { readonly schema: Schema; readonly isNullable: boolean } {
  if (schema.anyOf !== undefined) {
    const [only, ...more] = schema.anyOf.filter(({ type }) => type !== 'null')
    if (only === undefined || more.length > 0)
      throw new Error(`an unknown union: ${JSON.stringify(schema)}`)
    return { schema: { ...only, description: schema.description }, isNullable: true }
  }
  const kinds = [schema.type ?? []].flat()
  const rest = kinds.filter((kind) => kind !== 'null')
  return { schema: { ...schema, type: rest[0] }, isNullable: rest.length < kinds.length }
}

/** A field that an answer has only where it was asked for. */
const isAbsent = (name: string, required: readonly string[] | undefined): boolean =>
  !(required ?? []).includes(name)

// ---- TypeScript

function toTypeScript(name: string, given: Schema): string {
  const { schema, isNullable } = splitNull(given)
  const type = toPlainTypeScript(name, schema)
  return isNullable ? `${type} | null` : type
}

function toPlainTypeScript(name: string, schema: Schema): string {
  if (schema.$ref !== undefined) return nameOf(schema.$ref)
  if (schema.const !== undefined) return quote(schema.const)
  if (schema.enum !== undefined) return toOpenUnion(schema.enum)
  if (isDecimal(schema) || isMinorUnits(name, schema)) return 'DecimalString'
  switch (schema.type) {
    case 'string':
      return 'string'
    case 'integer':
      return 'number'
    case 'boolean':
      return 'boolean'
    case 'array':
      return `readonly ${toPlainTypeScript(name, schema.items ?? {})}[]`
    case 'object':
      return `{\n${toFields(schema, '    ')}\n  }`
    default:
      throw new Error(`${name} has an unknown type: ${JSON.stringify(schema)}`)
  }
}

/** A later server may know more values: they must not break a client. */
const toOpenUnion = (values: readonly (string | null)[]) => {
  const known = values.filter((value) => value !== null).map((value) => `\n  | ${quote(value)}`)
  return `${known.join('')}\n  | (string & {})`
}

const toFields = ({ properties = {}, required }: Schema, indent: string) =>
  Object.entries(properties)
    .map(([name, schema]) => {
      const text = `${describe(schema)}${isMinorUnits(name, schema) ? ' As text.' : ''}`
      const comment = text === '' ? '' : `${indent}/** ${text} */\n`
      const mark = isAbsent(name, required) ? '?' : ''
      return `${comment}${indent}readonly ${name}${mark}: ${toTypeScript(name, schema)}`
    })
    .join('\n')

function makeTypeScript(): string {
  const parts = models.map(([name, schema]) => {
    const comment = `/** ${describe(schema)} */`
    if (schema.enum !== undefined)
      return `${comment}\nexport type ${name} =${toOpenUnion(schema.enum)}`
    return `${comment}\nexport interface ${name} {\n${toFields(schema, '  ')}\n}`
  })
  return `${[
    `/** ${head} */`,
    '/** Exact decimal text. `new Decimal(text)` of a decimal library takes it; a float would lose digits. */\nexport type DecimalString = string & { readonly __decimal?: never }',
    `/** Stable codes of errors. */\nexport type ErrorCode =${toOpenUnion(errorCodes)}`,
    ...parts,
    `/** What an endpoint receives. */\nexport type WebhookEvent = ${events.map(([name]) => name).join(' | ')}`,
  ].join('\n\n')}\n`
}

// ---- Python

/** `class` is a word of the language. */
const toSnake = (name: string) =>
  name === 'class' ? 'class_' : name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

interface PythonField {
  readonly type: string
  /** The function that makes the value of what JSON has. */
  readonly read: string
}

function toPython(name: string, given: Schema): PythonField {
  const { schema, isNullable } = splitNull(given)
  const { type, read } = toPlainPython(name, schema)
  if (!isNullable) return { type, read }
  return { type: `${type} | None`, read: read === 'same' ? 'same' : `optional(${read})` }
}

function toPlainPython(name: string, schema: Schema): PythonField {
  if (schema.$ref !== undefined) {
    const target = nameOf(schema.$ref)
    const isEnum = schemas[target]?.enum !== undefined
    return isEnum ? { type: target, read: 'same' } : { type: target, read: `${target}.of` }
  }
  if (schema.enum !== undefined) return { type: 'str', read: 'same' }
  if (isDecimal(schema)) return { type: 'Decimal', read: 'to_decimal' }
  if (schema.format === 'date') return { type: 'dt.date', read: 'to_date' }
  if (schema.format === 'date-time') return { type: 'dt.datetime', read: 'to_datetime' }
  if (/^(?:trade|settlement)_?date$/i.test(name))
    return { type: 'dt.date | dt.datetime', read: 'to_date_or_datetime' }
  switch (schema.type) {
    case 'string':
      return { type: 'str', read: 'same' }
    case 'integer':
      return { type: 'int', read: 'same' }
    case 'boolean':
      return { type: 'bool', read: 'same' }
    case 'array': {
      const { type, read } = toPlainPython(name, schema.items ?? {})
      return { type: `tuple[${type}, ...]`, read: `many(${read === 'same' ? type : read})` }
    }
    default:
      throw new Error(`${name} has an unknown type: ${JSON.stringify(schema)}`)
  }
}

function toClass(name: string, schema: Schema): string {
  const fields = Object.entries(schema.properties ?? {})
  const nested = fields.flatMap(([key, value]) =>
    value.type === 'object' ? [toClass(`${name}${key === 'data' ? 'Rows' : key}`, value)] : [],
  )
  const read = fields.map(([key, value]) => {
    const field =
      value.type === 'object'
        ? { type: `${name}Rows`, read: `${name}Rows.of` }
        : toPython(key, value)
    const named = { key, attribute: toSnake(key), description: describe(value) }
    if (!isAbsent(key, schema.required)) return { ...named, ...field, isAbsent: false }
    const type = `${field.type.replace(/ \| None$/, '')} | None = None`
    const by = /^(?:same|optional\()/.test(field.read) ? field.read : `optional(${field.read})`
    return { ...named, type, read: by, isAbsent: true }
  })
  const attributes = read.map(
    ({ attribute, type, description }) =>
      `    ${attribute}: ${type}${description === '' ? '' : `\n    """${description}"""`}`,
  )
  const readers = read.map(({ key, attribute, read: by, isAbsent: mayLack }) => {
    const value = mayLack ? `raw.get("${key}")` : `raw["${key}"]`
    return `            ${attribute}=${by === 'same' ? value : `${by}(${value})`},`
  })
  return `${nested.map((text) => `${text}\n\n\n`).join('')}@dataclass(frozen=True, slots=True, kw_only=True)
class ${name}:
    """${describe(schema) || 'The rows of an event.'}"""

${attributes.join('\n')}
    raw: Mapping[str, Any]
    """As it was received, with fields that this version does not know."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "${name}":
        return cls(
${readers.join('\n')}
            raw=raw,
        )`
}

const toLiteral = (name: string, values: readonly (string | null)[]) =>
  `${name} = Union[Literal[${values.map((value) => `"${value}"`).join(', ')}], str]`

/** A class stands before those that use it. */
function sortByUse(classes: readonly (readonly [string, Schema])[]) {
  const sorted: (readonly [string, Schema])[] = []
  const place = (one: readonly [string, Schema]) => {
    if (sorted.includes(one)) return
    const text = JSON.stringify(one[1])
    for (const other of classes) if (text.includes(`schemas/${other[0]}"`)) place(other)
    sorted.push(one)
  }
  for (const one of classes) place(one)
  return sorted
}

function makePython(): string {
  const enums = models.flatMap(([name, { enum: values }]) =>
    values === undefined ? [] : [toLiteral(name, values)],
  )
  const classes = models.filter(([, schema]) => schema.enum === undefined)
  const sorted = sortByUse(classes)
  return `"""${head}"""

# fmt: off
# ruff: noqa

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, Union

from ._values import many, optional, to_date, to_date_or_datetime, to_datetime, to_decimal

${toLiteral('ErrorCode', errorCodes)}
${enums.join('\n')}


${sorted.map(([name, schema]) => toClass(name, schema)).join('\n\n\n')}


WebhookEvent = Union[${events.map(([name]) => name).join(', ')}]
EVENTS: Mapping[str, Any] = {${events.map(([name, { properties }]) => `"${properties?.type?.const}": ${name}`).join(', ')}}
`
}

// ---- Declarations of what runs in TypeScript

const typescript = join(root, 'sdk/typescript')

/** The declarations that the compiler reads from the comments of the JavaScript. */
function makeDeclarations(): readonly (readonly [string, string])[] {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-sdk-'))
  try {
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    execFileSync(
      process.execPath,
      [tsc, '--project', typescript, '--noEmit', 'false', '--outDir', folder],
      {
        stdio: 'inherit',
        timeout: 120_000,
      },
    )
    return readdirSync(folder)
      .sort()
      .map((name) => [`sdk/typescript/${name}`, readFileSync(join(folder, name), 'utf8')] as const)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function readExisting(path: string): string | null {
  try {
    return readFileSync(join(root, path), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

function put([path, wanted]: readonly [string, string]): void {
  if (readExisting(path) === wanted) return
  if (process.argv.includes('--check')) {
    console.error(`${path} is out of date: run \`npm run sdk\` and commit it`)
    process.exitCode = 1
  } else {
    writeFileSync(join(root, path), wanted)
    console.log(`${path} written`)
  }
}

put(['sdk/typescript/types.d.ts', makeTypeScript()])
put(['sdk/python/src/tributary_client/_models.py', makePython()])
makeDeclarations().forEach(put)
