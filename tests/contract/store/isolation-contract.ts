/** Many users act concurrently in any order: no user ever sees another user's row. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { UserRow } from '#store/ports/users.ts'
import type { StoreOf } from './place.ts'
import {
  addKey,
  addLink,
  addLogin,
  addUser,
  newAccount,
  newConnection,
  now,
  replaceAccounts,
  someUpstreamId,
} from './rows.ts'

const actions = [
  'login',
  'link',
  'relink',
  'accounts',
  'hide',
  'going',
  'unlink',
  'key',
  'move',
] as const
type Action = (typeof actions)[number]

/** The same upstream names for everybody: what is equal upstream must still be kept apart here. */
const step = fc.record({
  who: fc.nat(2),
  action: fc.constantFrom(...actions),
  choice: fc.nat(5),
})

export function testIsolation(store: StoreOf): void {
  test('many users at random: every user sees only their own rows', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { maxLength: 12 }),
        async (rounds) => {
          const users = [await addUser(store()), await addUser(store()), await addUser(store())]
          for (const round of rounds) {
            // The steps of a round run at once.
            await Promise.all(
              round.map(({ who, action, choice }) => {
                const user = users[who]
                assert.ok(user)
                return act(store, user, action, choice)
              }),
            )
            await checkApart(store, users)
          }
        },
      ),
      { numRuns: 15 },
    )
  })

  test('a connection of another user is not found, nor are its accounts', async () => {
    const mine = await addLink(store())
    const theirs = await addLink(store())
    await replaceAccounts(store(), theirs.connection.id, [newAccount()])
    assert.equal(await store().connections.get(mine.user.id, theirs.connection.id), null)
    const seen = await store().accounts.listByConnection(mine.user.id, theirs.connection.id)
    assert.deepEqual(seen, [])
  })

  test('a connection cannot use the login of another user', async () => {
    const [mine, theirs] = [await addUser(store()), await addUser(store())]
    const login = await addLogin(store(), theirs.id)
    await assert.rejects(store().connections.save(newConnection(mine.id, login.id)))
    assert.deepEqual(await store().connections.listByLogin(login.id), [])
  })

  test('a hundred concurrent calls of every kind all end', async () => {
    const { user, login, connection } = await addLink(store())
    const works = [
      () => store().users.setTimezone(user.id, 'Australia/Perth'),
      () => store().connections.setStatus(connection.id, 'invalidated'),
      () => replaceAccounts(store(), connection.id, [newAccount()]),
      () => store().connections.save(newConnection(user.id, login.id)),
      () => store().connections.list(user.id),
      () => store().connections.repoint(connection.id, someUpstreamId()),
      () => addKey(store(), user.id),
      () => store().accounts.list(user.id),
      () => store().keys.list(user.id),
      () => store().logins.list(user.id),
    ]
    await Promise.all(
      Array.from({ length: 10 }, () => works)
        .flat()
        .map((work) => work()),
    )
    assert.equal((await store().connections.list(user.id)).length, 11)
  })
}

async function act(store: StoreOf, user: UserRow, action: Action, choice: number): Promise<void> {
  const login = { userId: user.id, provider: 'akahu', upstreamUserId: `user_${choice}` } as const
  const upstream = { upstreamId: `conn_${choice}` as never }
  const mine = await store().connections.list(user.id)
  const one = mine[choice % Math.max(1, mine.length)]
  switch (action) {
    case 'login':
    case 'relink':
    case 'link': {
      const { id } = await store().logins.save({ ...login, secret: user.id })
      if (action === 'login') return
      await store().connections.save(newConnection(user.id, id, upstream))
      return
    }
    case 'accounts':
    case 'hide': {
      if (one === undefined) return
      const count = action === 'hide' ? 0 : choice
      const accounts = Array.from({ length: count }, (_, index) =>
        newAccount({ upstreamId: `acc_${index}` as never }),
      )
      await replaceAccounts(store(), one.id, accounts)
      return
    }
    case 'going':
      if (one !== undefined) await store().connections.setStatus(one.id, 'deleting')
      return
    case 'unlink':
      if (one !== undefined) await store().connections.delete(one.id)
      return
    case 'move':
      if (one !== undefined) await store().connections.repoint(one.id, someUpstreamId())
      return
    case 'key':
      await store().keys.touch((await addKey(store(), user.id)).id, now)
      return
  }
}

async function checkApart(store: StoreOf, users: readonly UserRow[]): Promise<void> {
  for (const user of users) {
    const connections = await store().connections.list(user.id)
    const accounts = await store().accounts.list(user.id)
    const logins = await store().logins.list(user.id)
    const keys = await store().keys.list(user.id)
    for (const row of [...connections, ...accounts, ...logins, ...keys])
      assert.equal(row.userId, user.id)
    const own = new Set(connections.map((connection) => connection.id))
    for (const account of accounts) assert.ok(own.has(account.connectionId))
    // The secret of each login was its owner's id.
    for (const login of logins) assert.equal(login.secret, user.id)
    for (const other of users.filter(({ id }) => id !== user.id))
      for (const connection of connections) {
        assert.equal(await store().connections.get(other.id, connection.id), null)
        const seen = await store().accounts.listByConnection(other.id, connection.id)
        assert.deepEqual(seen, [])
      }
  }
}
