/** What command lines become: paths, queries and bodies of the admin API, and which values are asked for. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseInvocation, UsageError } from './invocation.ts'

function callOf(...args: string[]) {
  const invocation = parseInvocation(args)
  assert.ok(invocation.kind === 'call')
  const { command, path, body, secrets } = invocation
  return { method: command.method, path, body, secrets }
}

test('--at-provider is a parameter of the query, and nothing is sent without it', () => {
  const nothing = { method: 'DELETE', body: null, secrets: [] }
  assert.deepEqual(callOf('connections', 'remove', 'c 1'), {
    ...nothing,
    path: '/admin/connections/c%201',
  })
  assert.deepEqual(callOf('connections', 'remove', 'c1', '--at-provider'), {
    ...nothing,
    path: '/admin/connections/c1?atProvider=true',
  })
  assert.throws(() => callOf('connections', 'remove', 'c1', '--at-provider=yes'), UsageError)
  assert.throws(() => callOf('connections', 'remove', 'c1', '--atprovider'), UsageError)
})

test('both tokens of a personal app are asked for, in the order of the command line', () => {
  const link = ['connections', 'link', 'U', '--provider', 'akahu']
  const asked = (...flags: string[]) => callOf(...link, ...flags).secrets.map(({ flag }) => flag)
  assert.deepEqual(asked('--user-token', '-', '--app-token', '-'), ['user-token', 'app-token'])
  assert.deepEqual(asked('--app-token', '-', '--user-token', '-'), ['app-token', 'user-token'])
  assert.deepEqual(asked('--user-token', '-'), ['user-token'])
})

test('a profile without a flag is wrong usage that names the flags; one of them is enough, also an empty name', () => {
  for (const args of [['U'], ['U', '--json']]) {
    assert.throws(
      () => parseInvocation(['users', 'set-profile', ...args]),
      (error: unknown) => {
        assert.ok(error instanceof UsageError)
        assert.match(error.message, /--name or --timezone/)
        assert.match(error.usage, /users set-profile U/)
        return true
      },
    )
  }
  assert.throws(() => callOf('users', 'set-profile'), /U is missing/)
  assert.deepEqual(callOf('users', 'set-profile', 'U', '--name', '').body, { name: '' })
  assert.deepEqual(callOf('users', 'set-profile', 'U', '--timezone', 'Pacific/Auckland').body, {
    timezone: 'Pacific/Auckland',
  })
})

test('a flag without its value is named, and how to write a value that begins with a dash', () => {
  const said = /^--name has no value; one that begins with a dash is written --name=-odd-$/
  for (const rest of [['--json'], ['-odd-']])
    assert.throws(() => callOf('keys', 'create', 'U', '--name', ...rest), { message: said })
  assert.deepEqual(callOf('keys', 'create', 'U', '--name=-odd-').body, { name: '-odd-' })
})
