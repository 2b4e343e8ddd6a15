/**
 * The tables of docs/admin-api.md, from the table of the admin API: what stands between two marks is written,
 * the rest of the page stays as it is.
 */
import { addSchema, type Json, type JsonObject, makeSchemas } from '#contract/openapi-schemas.ts'
import { type AdminCall, replyStatusOf } from '#doors/admin/table/call.ts'
import { listFields, toSentence } from '#doors/admin/table/input-fields.ts'
import { adminChapters } from '#doors/admin/table/table.ts'

/** Described in the contract. */
const ofContract = makeSchemas([])

/** The page with its tables as they should be. @throws Error when a chapter has no place on it. */
export function fillAdminPage(page: string): string {
  return adminChapters.reduce((text, { title, rows }) => {
    const marks = new RegExp(`(<!-- calls: ${title} -->\n)[\\s\\S]*?(<!-- end of calls -->)`)
    if (!marks.test(text)) throw new Error(`docs/admin-api.md has no place for "${title}"`)
    const block = makeBlock(rows.map(([, call]) => call))
    return text.replace(marks, (_, start: string, end: string) => `${start}\n${block}\n\n${end}`)
  }, page)
}

function makeBlock(calls: readonly AdminCall[]): string {
  const schemas: Record<string, Json> = {}
  const rows = calls.map((call) => {
    const reply = call.reply === null ? null : addSchema(schemas, call.reply)
    return makeRow(call, reply === null ? '' : shapeOf(reply, schemas))
  })
  const own = Object.entries(schemas).filter(([name]) => ofContract[name] === undefined)
  const described = own.map(([name, schema]) => {
    const { description = '' } = schema as JsonObject
    return `- **${name}** \`${shapeOf(schema, schemas)}\`: ${description}`
  })
  return [
    '| call | what it does | input | answer | audit |',
    '|---|---|---|---|---|',
    ...rows,
    ...(described.length > 0 ? ['', ...described] : []),
  ].join('\n')
}

function makeRow(call: AdminCall, shape: string): string {
  const { route, summary, description, audit = [] } = call
  const status = replyStatusOf(call)
  const cells = [
    code(route),
    [toSentence(summary), description ?? []].flat().join(' '),
    describeInput(call),
    `${status === 200 ? '' : status} ${code(shape)}`.trim(),
    audit.map(code).join(', '),
  ]
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

const code = (text: string) => (text === '' ? '' : `\`${text}\``)

/** Names alone: the document and the command's help say what each takes. */
function describeInput({ input }: AdminCall): string {
  if (input === undefined) return ''
  const fields = listFields(input)
  const namesOf = (isRequired: boolean) =>
    fields.filter((field) => field.isRequired === isRequired).map(({ name }) => code(name))
  const required = namesOf(true).join(', ')
  const optional = namesOf(false).join(', ')
  return [required, optional === '' ? [] : `optional ${optional}`]
    .flat()
    .filter((part) => part !== '')
    .join('; ')
}

/** A reply in short: names of fields, and of the schemas in them; empty for a plain value. */
function shapeOf(node: Json, schemas: Readonly<Record<string, Json>>): string {
  const { $ref, anyOf, items, properties } = node as JsonObject
  if (typeof $ref === 'string') {
    const name = $ref.split('/').at(-1) ?? ''
    return (schemas[name] as JsonObject).properties === undefined ? '' : name
  }
  if (Array.isArray(anyOf)) return shapeOf(anyOf[0] ?? {}, schemas)
  if (items !== undefined) {
    const inner = shapeOf(items, schemas)
    return inner === '' ? '' : `[${inner}…]`
  }
  if (properties === undefined) return ''
  const fields = Object.entries(properties as JsonObject).map(([name, field]) => {
    const inner = shapeOf(field, schemas)
    return inner === '' ? name : `${name}: ${inner}`
  })
  return `{${fields.join(', ')}}`
}
