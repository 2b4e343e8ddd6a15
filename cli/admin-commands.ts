/**
 * The commands that are one call of the admin API, from its table: words, arguments, flags, method and path.
 * What a command says beside that stands in command-extras.ts.
 */
import { z } from 'zod'
import { type AdminCall, readRoute } from '#doors/admin/table/call.ts'
import { listFields, type ShownField } from '#doors/admin/table/input-fields.ts'
import { adminCallList } from '#doors/admin/table/table.ts'
import type { Command, Flag, Show } from './command.ts'
import { type CommandExtras, commandExtras } from './command-extras.ts'

/** The placeholders of paths in a usage line; `placeMeanings` explains them. */
const placeOf: Readonly<Record<string, string>> = {
  user: 'U',
  email: 'E',
  key: 'K',
  agent: 'A',
  session: 'S',
  program: 'P',
  connection: 'C',
  webhook: 'W',
  delivery: 'D',
  consumer: 'N',
}

/** In the order of the table. A row without words has no command. */
export const adminCommands: readonly Command[] = adminCallList.flatMap(([name, call]) =>
  call.command === undefined ? [] : [toCommand(call.command, call, commandExtras[name] ?? {})],
)

/** The command of one row. */
export function toCommand(words: string, call: AdminCall, extras: CommandExtras): Command {
  const { placeFields = [], readsAllPages = false } = extras
  const [noun = '', verb = ''] = words.split(' ')
  const { method, path } = readRoute(call)
  const fields = call.input === undefined ? [] : listFields(call.input)
  const isFlag = ({ name }: ShownField) => name !== 'cursor' && !placeFields.includes(name)
  return {
    noun,
    verb,
    summary: call.summary,
    places: [
      ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => placeOf[name] ?? name),
      ...fields.flatMap(({ name, value }) => (placeFields.includes(name) ? (value ?? name) : [])),
    ],
    // A command that reads all pages chooses their size itself.
    flags: readsAllPages ? [] : fields.filter(isFlag).map((field) => toFlag(field, call)),
    method,
    path: path.replace(/\{\w+\}/g, '{}'),
    show: showReply(call),
    ...extras,
  }
}

function toFlag({ name, schema, isRequired, ...field }: ShownField, { input }: AdminCall): Flag {
  return {
    name: field.flag ?? name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
    value: field.value ?? wordsOf(schema),
    help: field.help,
    ...(isRequired ? { isRequired } : {}),
    ...(field.isSecret === true ? { isSecret: true } : {}),
    ...(schema.type === 'array' ? { isList: true } : {}),
    // In a query everything is text.
    ...(schema.type === 'integer' && input?.place === 'body' ? { isNumber: true } : {}),
  }
}

/** The allowed words; null: the flag has no value and means `true`. */
function wordsOf({ enum: words, items }: ShownField['schema']): string | null {
  if (items !== undefined) {
    const { enum: kinds } = items as ShownField['schema']
    return Array.isArray(kinds) ? kinds.join(',') : null
  }
  return Array.isArray(words) && !words.includes('true') ? words.join('|') : null
}

/** A list as a table of all its columns, anything else as a record. */
function showReply({ reply }: AdminCall): Show {
  if (reply === null) return { kind: 'done', text: 'Done.' }
  const { data } = reply instanceof z.ZodObject ? reply.shape : {}
  const row = data instanceof z.ZodArray ? data.element : null
  if (!(row instanceof z.ZodObject)) return { kind: 'record' }
  return { kind: 'table', rows: 'data', columns: Object.keys(row.shape), empty: 'There are none.' }
}
