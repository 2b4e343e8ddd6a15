/** The contract of the port for programs that read SimpleFIN. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ConnectionId, newId, type ProgramId, type UserId } from '#kernel/ids.ts'
import { maxPrograms, type NewProgram, type ProgramRow } from '#store/ports/programs.ts'
import type { StoreOf } from './place.ts'
import { addUser, now, someHash } from './rows.ts'

const hour = 3_600_000

const newProgram = (userId: UserId, over: Partial<NewProgram> = {}): NewProgram => ({
  userId,
  name: 'Actual Budget',
  connections: null,
  setupHash: someHash(),
  createdAt: now,
  setupUntil: now + hour,
  ...over,
})

const isRow = (made: unknown): made is ProgramRow =>
  typeof made === 'object' && made !== null && 'id' in made

export function testPrograms(store: StoreOf): void {
  const create = async (program: NewProgram): Promise<ProgramRow> => {
    const made = await store().programs.create(program)
    assert(isRow(made))
    return made
  }
  const claim = (setupHash: Uint8Array, accessHash = someHash(), at = now) =>
    store().programs.claim({ setupHash, accessHash, at })

  test('a program comes back as it was made, without its hashes, newest first', async () => {
    const user = await addUser(store())
    const connections = [newId<ConnectionId>(), newId<ConnectionId>()]
    const { setupHash, ...given } = newProgram(user.id, { connections })
    const made = await create({ ...given, setupHash })
    const rest = { claimedAt: null, lastUsedAt: null, revokedAt: null, repeatedAt: null }
    assert.deepEqual(made, { ...given, id: made.id, ...rest })
    const later = await create(newProgram(user.id, { createdAt: now + 1, connections: [] }))
    assert.deepEqual(await store().programs.list(user.id), [later, made])
    assert.deepEqual(later.connections, [])
    assert.deepEqual(await store().programs.get(made.id), made)
    assert.equal(await store().programs.get(newId<ProgramId>()), null)
  })

  test('of many claims of one setup token one gets the credentials, and the first of the others is noted', async () => {
    const user = await addUser(store())
    const program = newProgram(user.id)
    const { id } = await create(program)
    const hashes = [1, 2, 3, 4].map(() => someHash())
    const claims = await Promise.all(hashes.map((hash) => claim(program.setupHash, hash, now + 5)))
    assert.equal(claims.filter(isRow).length, 1)
    assert.equal(claims.filter((made) => made !== null && 'repeated' in made).length, 1)
    assert.equal(await claim(program.setupHash, someHash(), now + 9), null)
    const callers = await Promise.all(hashes.map((hash) => store().programs.findCaller(hash)))
    assert.deepEqual(
      callers.flatMap((caller) => (caller === null ? [] : [caller.programId])),
      [id],
    )
    const row = await store().programs.get(id)
    assert.deepEqual([row?.claimedAt, row?.repeatedAt], [now + 5, now + 5])
  })

  test('a setup token that is unknown, has ended or was revoked is not spent', async () => {
    const user = await addUser(store())
    assert.equal(await claim(someHash()), null)
    const program = newProgram(user.id)
    const { id } = await create(program)
    assert.equal(await claim(program.setupHash, someHash(), now + hour), null)
    await store().programs.revoke(id, now + 1)
    assert.equal(await claim(program.setupHash), null)
  })

  test('credentials lead to their caller until the program is revoked, which keeps its first time', async () => {
    const user = await addUser(store(), { timezone: 'Pacific/Auckland', plan: 'developer' })
    const [program, access] = [newProgram(user.id), someHash()]
    const { id } = await create(program)
    await claim(program.setupHash, access)
    const caller = await store().programs.findCaller(access)
    assert.deepEqual(
      [caller?.programId, caller?.userId, caller?.timezone, caller?.plan, caller?.connections],
      [id, user.id, 'Pacific/Auckland', 'developer', null],
    )
    assert.equal((await store().programs.revoke(id, now + 7))?.wasRevoked, false)
    const again = await store().programs.revoke(id, now + 9)
    assert.deepEqual([again?.wasRevoked, again?.revokedAt], [true, now + 7])
    assert.equal(await store().programs.findCaller(access), null)
    assert.equal(await store().programs.revoke(newId<ProgramId>(), now), null)
  })

  test('the last use only moves forwards', async () => {
    const user = await addUser(store())
    const { id } = await create(newProgram(user.id))
    await store().programs.touch(id, now + 5)
    await store().programs.touch(id, now + 3)
    assert.equal((await store().programs.get(id))?.lastUsedAt, now + 5)
  })

  test('a user has a bounded number of programs; ended ones make room, the newest of them stay listed', async () => {
    const user = await addUser(store())
    const made: ProgramRow[] = []
    for (let at = 0; at < maxPrograms; at += 1) {
      made.push(await create(newProgram(user.id, { createdAt: now + at })))
    }
    assert.equal(await store().programs.create(newProgram(user.id)), 'full')
    for (const { id } of made.slice(0, 30)) await store().programs.revoke(id, now + 100)
    await create(newProgram(user.id, { createdAt: now + 200 }))
    const left = await store().programs.list(user.id)
    assert.equal(left.filter(({ revokedAt }) => revokedAt !== null).length, maxPrograms / 2)
    assert.equal(await store().programs.create(newProgram(newId<UserId>())), null)
  })

  test('the deletion of a user ends their programs at once', async () => {
    const user = await addUser(store())
    const [program, access] = [newProgram(user.id), someHash()]
    await create(program)
    await claim(program.setupHash, access)
    await store().users.disarm(user.id, now)
    assert.equal(await store().programs.findCaller(access), null)
    assert.deepEqual(await store().programs.list(user.id), [])
  })
}
