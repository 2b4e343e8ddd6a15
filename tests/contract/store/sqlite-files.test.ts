/**
 * What only the embedded store promises: one process, private files, and no harm when the disk is not as it
 * should be.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { StoreOpenError } from '#store/failure.ts'
import { openStore } from '#store/open-store.ts'
import { keyA, makeInPlace, makeSqlitePlace } from './place.ts'
import { addLogin, addUser } from './rows.ts'

const child = join(import.meta.dirname, 'hold-store.ts')
const posix = process.platform !== 'win32'

const inPlace = makeInPlace(makeSqlitePlace)

test(
  'a second opening is refused at once, in this process and in another',
  inPlace(async (place) => {
    const store = await place.open()
    // Looking at the lock in one process must not give it up.
    await assert.rejects(place.open(), { name: 'StoreOpenError', reason: 'in_use' })
    assert.equal(await firstWord(start('hold', place.dataDir)), 'in_use')
    await store.close()
    await (await place.open()).close()
  }),
)

test(
  'the lock of a process that was killed does not outlive it',
  inPlace(async (place) => {
    const holder = start('hold', place.dataDir)
    assert.equal(await firstWord(holder), 'open')
    await assert.rejects(place.open(), { reason: 'in_use' })
    holder.kill('SIGKILL')
    await once(holder, 'exit')
    await (await place.open()).close()
  }),
)

test(
  'a failed opening leaves nothing locked',
  inPlace(async (place) => {
    await (await place.open({ mode: 'sandbox' })).close()
    await assert.rejects(place.open({ mode: 'live' }), { reason: 'wrong_mode' })
    await (await place.open({ mode: 'sandbox' })).close()
  }),
)

test(
  'directory and files are for their owner alone',
  inPlace(async (place) => {
    const dataDir = join(place.dataDir, 'made', 'by-store')
    const store = await openStore({
      databaseUrl: null,
      dataDir,
      mode: 'live',
      encryptionKeys: [keyA],
    })
    await addUser(store)
    const modes = readdirSync(dataDir).map((file) => statSync(join(dataDir, file)).mode & 0o777)
    assert.ok(modes.length >= 4, 'database, log, index of the log, lock')
    if (posix) {
      assert.deepEqual(new Set(modes), new Set([0o600]))
      assert.equal(statSync(dataDir).mode & 0o777, 0o700)
    }
    await store.close()
  }),
)

test(
  'a file that others may read is for its owner alone after the opening',
  inPlace(async (place) => {
    await (await place.open()).close()
    const files = readdirSync(place.dataDir).map((name) => join(place.dataDir, name))
    for (const file of files) chmodSync(file, 0o644)
    await (await place.open()).close()
    if (!posix) return
    for (const file of files) assert.equal(statSync(file).mode & 0o777, 0o600, file)
  }),
)

test(
  'a link in the place of a file is refused by its name, and what it leads to stays as it is',
  inPlace(async (place) => {
    const dataDir = join(place.dataDir, 'data')
    const elsewhere = join(place.dataDir, 'elsewhere')
    mkdirSync(dataDir)
    for (const name of ['tributary.lock', 'tributary.db', 'event-keys.db']) {
      const path = join(dataDir, name)
      for (const isThere of [true, false]) {
        if (isThere) writeFileSync(elsewhere, 'words')
        if (isThere) chmodSync(elsewhere, 0o644)
        symlinkSync(elsewhere, path)
        const { reason, message } = await failureOf(dataDir)
        assert.equal(reason, 'not_writable')
        assert.equal(
          message,
          `${path} is a link, which is not followed: put what it leads to in its place`,
        )
        if (isThere && posix) assert.equal(statSync(elsewhere).mode & 0o777, 0o644)
        rmSync(path)
        rmSync(elsewhere, { force: true })
      }
    }
    assert.deepEqual(readdirSync(place.dataDir), ['data'])
  }),
)

test(
  'a link in the place of what SQLite makes beside its files is refused by its name too',
  inPlace(async (place) => {
    await (await place.open()).close()
    const elsewhere = join(place.dataDir, 'elsewhere')
    for (const name of ['tributary.db', 'event-keys.db', 'tributary.lock']) {
      for (const side of ['wal', 'shm', 'journal']) {
        writeFileSync(elsewhere, 'words')
        chmodSync(elsewhere, 0o644)
        symlinkSync(elsewhere, join(place.dataDir, `${name}-${side}`))
        assert.match(
          (await failureOf(place.dataDir)).message,
          new RegExp(`${name}-${side} is a link`),
        )
        assert.equal(readFileSync(elsewhere, 'utf8'), 'words', `${name}-${side}`)
        if (posix) assert.equal(statSync(elsewhere).mode & 0o777, 0o644)
        rmSync(join(place.dataDir, `${name}-${side}`))
      }
    }
  }),
)

test(
  'the directory may itself be a link',
  inPlace(async (place) => {
    await (await place.open()).close()
    const link = join(place.dataDir, 'link')
    symlinkSync(place.dataDir, link)
    const options = { databaseUrl: null, mode: 'live', encryptionKeys: [keyA] } as const
    await (await openStore({ ...options, dataDir: link })).close()
  }),
)

test(
  'a directory that other users may read is reported, not changed',
  inPlace(async (place) => {
    const lines: string[] = []
    chmodSync(place.dataDir, 0o755)
    const store = await place.open({ log: ({ message }) => lines.push(message) })
    await store.close()
    if (!posix) return
    assert.ok(lines.some((line) => line.includes('other users may read')))
    assert.equal(statSync(place.dataDir).mode & 0o777, 0o755)
  }),
)

test(
  'every commit is on the disk before its call resolves, and deleted rows are overwritten',
  inPlace(async (place) => {
    const store = await place.open()
    const user = await addUser(store, { email: 'erased-canary@example.test' })
    await store.users.delete(user.id)
    await store.close()
    assert.ok(!(await place.readAll()).includes('erased-canary'))
    // The settings of a connection cannot be asked from outside; the journal's mode lies in the file.
    const db = new DatabaseSync(join(place.dataDir, 'tributary.db'))
    assert.equal(db.prepare('pragma journal_mode').get()?.journal_mode, 'wal')
    assert.deepEqual(db.prepare('pragma integrity_check').all().length, 1)
    db.close()
  }),
)

test(
  'a data directory that cannot be made is refused with its name',
  inPlace(async (place) => {
    writeFileSync(join(place.dataDir, 'file'), '')
    const dataDir = join(place.dataDir, 'file', 'data')
    const error = await failureOf(dataDir)
    assert.equal(error.reason, 'not_writable')
    assert.ok(error.message.includes(dataDir))
  }),
)

test(
  'a file that is no database is refused and left as it is',
  inPlace(async (place) => {
    const path = join(place.dataDir, 'tributary.db')
    writeFileSync(path, 'not a database, but somebody may still want it'.repeat(100))
    const before = await place.readAll()
    const { reason, message } = await failureOf(place.dataDir)
    assert.equal(reason, 'damaged')
    assert.match(message, /restore a backup/)
    assert.ok((await place.readAll()).includes(before))
  }),
)

test(
  'a lock file that cannot be locked is refused with the reason and what to do',
  inPlace(async (place) => {
    const path = join(place.dataDir, 'tributary.lock')
    writeFileSync(path, 'not a database'.repeat(100))
    const error = await failureOf(place.dataDir)
    assert.equal(error.reason, 'not_writable')
    assert.ok(error.message.includes(`${path} cannot be locked (file is not a database); see that`))
    assert.match(error.message, /has space .* where no process runs remove the file$/)
    rmSync(path)
    await (await place.open()).close()
  }),
)

test(
  'a directory in the place of the lock file is refused with its path and what to do',
  inPlace(async (place) => {
    const path = join(place.dataDir, 'tributary.lock')
    mkdirSync(path)
    const { reason, message } = await failureOf(place.dataDir)
    assert.equal(reason, 'not_writable')
    assert.ok(message.startsWith(`the lock file ${path} cannot be locked (unable to open`), message)
  }),
)

test(
  'a damaged file of the event keys is refused with its name, and without it the store opens',
  inPlace(async (place) => {
    const path = join(place.dataDir, 'event-keys.db')
    writeFileSync(path, 'not a database'.repeat(100))
    const error = await failureOf(place.dataDir)
    assert.equal(error.reason, 'damaged')
    assert.ok(error.message.includes(path))
    assert.match(error.message, /a new one is made/)
    await place.removeKeys()
    await (await place.open()).close()
  }),
)

test(
  'a path that is a directory where the database should be is refused',
  inPlace(async (place) => {
    mkdirSync(join(place.dataDir, 'tributary.db'))
    assert.equal((await failureOf(place.dataDir)).reason, 'not_writable')
  }),
)

// The shell's file size limit stands in for a full disk; Windows has none.
if (posix)
  test(
    'a full disk is reported, and nothing that was accepted is lost',
    inPlace(async (place) => {
      const blocks = 8_000
      const command = `trap '' XFSZ; ulimit -f ${blocks}; exec "$0" --disable-warning=ExperimentalWarning "$@"`
      const filler = spawn('sh', ['-c', command, process.execPath, child, 'fill', place.dataDir], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const lines = (await textOf(filler)).trim().split('\n')
      assert.equal(lines[0], 'open')
      assert.match(lines.at(-1) ?? '', /^unavailable: the disk under the store/)
      const accepted = lines.slice(1, -1)
      assert.ok(accepted.length > 30)
      const store = await place.open()
      const kept = new Set((await store.users.list()).map((user) => String(user.id)))
      for (const id of accepted) assert.ok(kept.has(id))
      const user = await addUser(store)
      assert.equal((await addLogin(store, user.id, 'again')).secret, 'again')
      await store.close()
    }),
  )

const started: ChildProcess[] = []
after(() => {
  for (const holder of started) holder.kill('SIGKILL')
})

function start(task: string, dataDir: string): ChildProcess {
  const flags = ['--disable-warning=ExperimentalWarning', child, task, dataDir]
  const holder = spawn(process.execPath, flags, { stdio: ['ignore', 'pipe', 'inherit'] })
  started.push(holder)
  return holder
}

async function firstWord(process: ChildProcess): Promise<string> {
  assert.ok(process.stdout)
  const [bytes] = await once(process.stdout, 'data')
  return String(bytes).trim()
}

async function textOf(process: ChildProcess): Promise<string> {
  assert.ok(process.stdout)
  const chunks: Buffer[] = []
  for await (const chunk of process.stdout) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString()
}

async function failureOf(dataDir: string): Promise<StoreOpenError> {
  const opening = openStore({ databaseUrl: null, dataDir, mode: 'live', encryptionKeys: [keyA] })
  const error = await opening.then(
    (store) => store.close(),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof StoreOpenError, String(error))
  return error
}
