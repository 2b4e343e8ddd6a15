/**
 * Which values of a provider's variables are refused at the start, so that they are never sent to that
 * provider.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, readConfig } from '#src/config.ts'

const snaptrade = { SNAPTRADE_CLIENT_ID: 'PERSONAL-1', SNAPTRADE_CONSUMER_KEY: 'k' }

/** The problems, without the text that they must not repeat. */
function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment, '/srv/tributary')
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    assert.doesNotMatch(error.message, /sekrit/)
    return error.problems
  }
}

test('a key of another provider in a variable is refused by what it is, before anything is sent', () => {
  const cases: [variables: Record<string, string>, problem: string][] = [
    [
      { AKAHU_APP_TOKEN: 'up:yeah:sekrit' },
      'AKAHU_APP_TOKEN: got a key of Up, which begins with "up:", should be that of Akahu, alone',
    ],
    [
      { AKAHU_APP_TOKEN: 'user_token_sekrit' },
      'AKAHU_APP_TOKEN: got a value that does not begin with "app_token_" as this key of Akahu does, should be that of Akahu, alone',
    ],
    [
      { AKAHU_APP_TOKEN: 'app_token_1', AKAHU_APP_SECRET: 'user_token_sekrit' },
      'AKAHU_APP_SECRET: got another key of Akahu, which begins with "user_token_", should be that of Akahu, alone',
    ],
    [
      { ...snaptrade, SNAPTRADE_CLIENT_ID: 'user_token_sekrit' },
      'SNAPTRADE_CLIENT_ID: got a key of Akahu, which begins with "user_token_", should be that of SnapTrade, alone',
    ],
    [
      { ...snaptrade, SNAPTRADE_CONSUMER_KEY: 'up:yeah:sekrit' },
      'SNAPTRADE_CONSUMER_KEY: got a key of Up, which begins with "up:", should be that of SnapTrade, alone',
    ],
    [
      { FISKIL_CLIENT_ID: 'x', FISKIL_CLIENT_SECRET: 'app_token_sekrit' },
      'FISKIL_CLIENT_SECRET: got a key of Akahu, which begins with "app_token_", should be that of Fiskil, alone',
    ],
    [
      { FISKIL_CLIENT_ID: 'x', FISKIL_CLIENT_SECRET: 'trib_live_sekrit' },
      'FISKIL_CLIENT_SECRET: got a key of Tributary itself, which begins with "trib_", should be that of Fiskil, alone',
    ],
  ]
  for (const [variables, problem] of cases) assert.deepEqual(problemsOf(variables), [problem])
})

test('a key in quotes is named as that: whoever passes variables on may not take them away', () => {
  for (const key of ['"app_token_sekrit"', "'app_token_sekrit'", 'app_token_sekrit"']) {
    assert.deepEqual(problemsOf({ AKAHU_APP_TOKEN: key }), [
      'AKAHU_APP_TOKEN: got a value in quotes, should be that of Akahu, alone',
    ])
  }
  assert.match(
    problemsOf({ ...snaptrade, SNAPTRADE_CLIENT_ID: '"sekrit"' }).join(),
    /SNAPTRADE_CLIENT_ID: got a value in quotes/,
  )
})

test('a variable has one line, also where its value has two faults', () => {
  const fiskil = { FISKIL_CLIENT_ID: 'x', FISKIL_CLIENT_SECRET: 's' }
  for (const [name, value] of [
    ['FISKIL_WEBHOOK_SECRET', '"sekrit"'],
    ['FISKIL_CLIENT_SECRET', 'http://sekrit-ü'],
  ] as const) {
    const [problem = '', ...more] = problemsOf({ ...fiskil, [name]: value })
    assert.ok(problem.startsWith(`${name}: got a value `), problem)
    assert.deepEqual(more, [])
  }
})

test('the right keys pass', () => {
  assert.deepEqual(problemsOf({ AKAHU_APP_TOKEN: 'app_token_1', AKAHU_APP_SECRET: 's' }), [])
  assert.deepEqual(problemsOf(snaptrade), [])
})

test('a key that was put into a variable for an id is not shown', () => {
  for (const key of ['trib_live_06pK', 'user_token_abc', 'up:yeah:abc', 'k'.repeat(40)]) {
    const environment = { FISKIL_CLIENT_ID: `Bearer ${key}`, FISKIL_CLIENT_SECRET: 'secret' }
    assert.throws(
      () => readConfig(environment, '/srv/tributary'),
      /FISKIL_CLIENT_ID: got a value that is not shown here/,
    )
  }
})
