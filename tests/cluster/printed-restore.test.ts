/** The commands that docs/operations/install.md prints for a backup of PostgreSQL, as they are printed. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { addUser } from '#tests/contract/store/rows.ts'
import { makePostgresGround } from './postgres-place.ts'

const run = promisify(execFile)

test('a backup that is restored as printed replaces the tables of a newer version whole', async (t) => {
  const ground = await makePostgresGround()
  const folder = await mkdtemp(join(tmpdir(), 'tributary-restore-'))
  t.after(async () => {
    await ground.remove()
    await rm(folder, { recursive: true, force: true })
  })
  const place = await ground.makePlace()
  const page = new URL('../../docs/operations/install.md', import.meta.url)
  const [, ...blocks] = (await readFile(page, 'utf8')).split('```sh\n')
  const commands = blocks.map((text) => text.split('```')[0] ?? '')
  const runPrinted = async (word: string) => {
    const command = commands.find((text) => text.includes(word)) ?? assert.fail(word)
    const env = { ...process.env, DATABASE_URL: place.databaseUrl }
    return (await run('bash', ['-e', '-c', command], { cwd: folder, env })).stdout
  }
  const before = await place.open()
  const user = await addUser(before)
  await before.close()
  await runPrinted('pg_dump ')
  const upgraded = await place.open()
  const later = await addUser(upgraded)
  await upgraded.close()
  // As a newer version leaves it: a table that refers to one of the backup, and a row in the list.
  await place.tamper('create table later (user_id uuid references users (id) on delete cascade)')
  await place.tamper("insert into schema_migrations values (9999, '9999_later', 'x')")
  const checked = await runPrinted('pg_restore --version')
  assert.match(checked, /^ *(\d+)\.[^\n]*\n+pg_restore [^\n]* \1\..*\nreadable\n$/s)
  await runPrinted('pg_restore --clean')
  const restored = await place.open()
  t.after(() => restored.close())
  assert.deepEqual(await restored.users.find(user.id), user)
  assert.equal(await restored.users.find(later.id), null)
  await assert.rejects(place.ask('select 1 from later'))
})
