/** What a command takes from its row in the table of the admin API. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { type AdminCall, body } from '#doors/admin/table/call.ts'
import { adminCallList } from '#doors/admin/table/table.ts'
import { adminCommands, toCommand } from './admin-commands.ts'
import { commandExtras } from './command-extras.ts'

test('each row with words has one command, and a row without words has nothing to say of one', () => {
  const [withWords, mute] = [true, false].map((has) =>
    adminCallList.filter(([, call]) => (call.command !== undefined) === has),
  )
  assert.deepEqual(
    adminCommands.map(({ noun, verb }) => `${noun} ${verb}`.trim()),
    withWords?.map(([, { command }]) => command),
  )
  assert.deepEqual(
    mute?.map(([name]) => commandExtras[name]),
    [undefined],
  )
})

const row: AdminCall = {
  route: 'POST /admin/users/{user}/notes',
  command: 'notes add',
  summary: 'add a note',
  input: body(
    z.strictObject({
      noteText: z.string(),
      secret: z.string().optional(),
      kind: z.enum(['plain', 'rich']).optional(),
      tags: z.array(z.enum(['a', 'b'])).optional(),
      pinned: z.boolean().default(false),
      days: z.int().optional(),
    }),
    {
      noteText: { value: 'T', help: 'its text' },
      secret: { value: 'S', help: 'a secret', isSecret: true },
      kind: { help: 'how it is written' },
      tags: { help: 'some of these' },
      pinned: { help: 'above the others' },
      days: { value: 'N', help: 'how long' },
    },
  ),
  status: 201,
  reply: z.strictObject({ id: z.string() }),
}

test('a new row makes a command: arguments from its path, flags from its schema, a record from its reply', () => {
  const { path, method, places, flags, show } = toCommand('notes add', row, {})
  assert.deepEqual([method, path, places], ['POST', '/admin/users/{}/notes', ['U']])
  assert.deepEqual(flags, [
    { name: 'note-text', value: 'T', help: 'its text', isRequired: true },
    { name: 'secret', value: 'S', help: 'a secret', isSecret: true },
    { name: 'kind', value: 'plain|rich', help: 'how it is written' },
    { name: 'tags', value: 'a,b', help: 'some of these', isList: true },
    { name: 'pinned', value: null, help: 'above the others' },
    { name: 'days', value: 'N', help: 'how long', isNumber: true },
  ])
  assert.deepEqual(show, { kind: 'record' })
})

test('a list is shown as a table of its columns, an answer without a body as done', () => {
  const rows = z.strictObject({ data: z.array(z.strictObject({ id: z.string(), at: z.string() })) })
  const { show } = toCommand('notes list', { ...row, reply: rows }, {})
  assert.deepEqual(show.kind === 'table' && show.columns, ['id', 'at'])
  assert.equal(toCommand('notes remove', { ...row, reply: null }, {}).show.kind, 'done')
})

test('the list of providers says what one allows where nobody is linked', () => {
  const { show } = commandExtras.listProviders ?? {}
  assert.ok(show?.kind === 'table')
  const { budget } = show.derive ?? {}
  assert.match(String(budget?.({ provider: 'enablebanking', budget: null })), /^4 a day for each/)
})
