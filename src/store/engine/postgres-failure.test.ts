import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from 'pg'
import { StoreUnavailableError } from '../failure.ts'
import { toStoreError as read, sqlState, toConnectError, toTarget } from './postgres-failure.ts'

const target = toTarget('postgresql://app:hunter2@db.example:5433/money')
const toStoreError = (error: unknown) => read(error, target)

const told = (code: string) => Object.assign(new Error('told'), { code, severity: 'ERROR' })

test('an error of the server about its own state is an outage', () => {
  for (const code of ['08006', '53300', '53100', '57P01', '57P03', '57014', '25006', '58030'])
    assert.ok(toStoreError(told(code)) instanceof StoreUnavailableError, code)
})

test('an error of the server about our statements is no outage', () => {
  for (const code of ['23505', '23503', '42601', '42P01', '22P02', '40001', '40P01', '25P02']) {
    const error = told(code)
    assert.equal(toStoreError(error), error, code)
  }
})

test('a failed socket, an unknown name and a connection that the driver lost are outages', () => {
  const socket = Object.assign(new Error('connect ECONNREFUSED'), {
    code: 'ECONNREFUSED',
    syscall: 'connect',
  })
  const words = [
    'Connection terminated unexpectedly',
    'Connection terminated due to connection timeout',
    'timeout exceeded when trying to connect',
    'timeout expired',
    'Query read timeout',
    'Client has encountered a connection error and is not queryable',
  ]
  for (const error of [
    socket,
    new AggregateError([socket]),
    ...words.map((text) => new Error(text)),
  ])
    assert.ok(toStoreError(error) instanceof StoreUnavailableError, error.message)
})

test('where no connection becomes free the words name a pooler with too few of them', () => {
  const failure = toStoreError(new Error('timeout exceeded when trying to connect'))
  assert.ok(failure instanceof StoreUnavailableError)
  assert.match(failure.message, /^PostgreSQL gave no connection in time/)
  assert.match(failure.remedy ?? '', /default_pool_size/)
})

test('an error of ours is returned unchanged, and an outage keeps its cause', () => {
  const mistake = new TypeError('x is not a function')
  assert.equal(toStoreError(mistake), mistake)
  assert.equal(toStoreError('text'), 'text')
  const outage = told('57P01')
  const failure = toStoreError(outage)
  assert.ok(failure instanceof StoreUnavailableError)
  assert.equal(failure.cause, outage)
  assert.equal(toStoreError(failure), failure)
})

test('a state is read from the server alone', () => {
  assert.equal(sqlState(told('42501')), '42501')
  assert.equal(sqlState(Object.assign(new Error('no'), { code: 'ENOENT' })), null)
})

test('a refused login, a missing or closed database, a revoked right, a server that is not ready and a statement that ran too long are outages, named with role and database', () => {
  const cases = [
    ['28000', /refuses the role "app" \(database "money" at db\.example:5433\)/, /LOGIN/],
    ['28P01', /refuses the role "app"/, /password of DATABASE_URL/],
    ['3D000', /no such database \(database "money"/, /DATABASE_URL/],
    ['57P04', /no such database/, /DATABASE_URL/],
    ['55000', /takes no connections \(database "money"/, /ALLOW_CONNECTIONS/],
    ['53300', /no connection left/, /max_connections/],
    ['53100', /no room left/, /disk/],
    ['25006', /takes no writes/, /promote/],
    ['57P03', /is not ready/, /Wait/],
    ['57014', /^PostgreSQL answers, and a statement exceeded its time limit/, /pg_stat_activity/],
    ['42501', /denies the role "app" a right/, /CONNECT/],
  ] as const
  for (const [code, sentence, remedy] of cases) {
    const failure = toStoreError(told(code))
    assert.ok(failure instanceof StoreUnavailableError, code)
    assert.match(failure.message, sentence)
    assert.match(failure.message, /: told$/)
    assert.match(failure.remedy ?? '', remedy)
    assert.doesNotMatch(failure.message + failure.remedy, /hunter2/)
  }
  for (const code of ['57P01', '57P02', '57P05', '08004', '08P01'])
    assert.ok(toStoreError(told(code)) instanceof StoreUnavailableError, code)
})

test('every failure to connect is an outage, including errors of the driver itself', () => {
  const words = 'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string'
  const expired = Object.assign(new Error('certificate has expired'), { code: 'CERT_HAS_EXPIRED' })
  for (const error of [new Error(words), expired, told('XX000')])
    assert.ok(toConnectError(error, target) instanceof StoreUnavailableError, error.message)
  const several = new AggregateError([new Error('connect ECONNREFUSED ::1:5433')])
  assert.match(String(toConnectError(several, target)), /ECONNREFUSED ::1:5433/)
})

test('a failure of TLS or of a file in the URL says so, and what to change, not that the disk may be full', () => {
  const from = (message: string, fields: object) => Object.assign(new Error(message), fields)
  const cases = [
    [
      from('self-signed certificate', { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }),
      /certificate/,
      /sslrootcert/,
    ],
    [from('expired', { code: 'CERT_HAS_EXPIRED' }), /certificate/, /sslrootcert/],
    [
      from('other name', { code: 'ERR_TLS_CERT_ALTNAME_INVALID' }),
      /certificate/,
      /name in the certificate/,
    ],
    [new Error('The server does not support SSL connections'), /offers no TLS/, /sslmode/],
    [from('ENOENT', { code: 'ENOENT', syscall: 'open' }), /file/, /sslrootcert/],
    [
      Object.assign(told('28000'), { message: 'pg_hba.conf rejects connection, no encryption' }),
      /refuses the role "app"/,
      /\?sslmode=verify-full/,
    ],
  ] as const
  for (const [error, sentence, remedy] of cases) {
    const failure = toConnectError(error, target)
    assert.ok(failure instanceof StoreUnavailableError)
    assert.match(failure.message, sentence)
    assert.match(failure.message, /database "money" at db\.example:5433/)
    assert.match(failure.remedy ?? '', remedy)
    assert.doesNotMatch(failure.message + failure.remedy, /hunter2/)
  }
})

test('role and database are read from any form of DATABASE_URL', () => {
  assert.deepEqual(toTarget('postgres://a%20b:p@h/d%2Fe'), {
    role: 'a b',
    database: 'd/e',
    host: 'h',
  })
  assert.deepEqual(toTarget('postgresql:///d?host=/run/pg&user=u'), {
    role: 'u',
    database: 'd',
    host: '/run/pg',
  })
  assert.deepEqual(toTarget('postgresql://h'), { role: null, database: null, host: 'h' })
  assert.equal(toTarget('postgresql://100%@h/d').role, '100%')
})

test('what a parameter of DATABASE_URL says is named, where the rest of the URL says something else', () => {
  const url = 'postgres://u:p@h:5432/d?user=x&host=first&host=other&port=6432&database=y'
  const { user, host, port, database } = new Client({ connectionString: url })
  assert.deepEqual([user, host, port, database], ['x', 'other', 6432, 'd'])
  assert.deepEqual(toTarget(url), { role: 'x', database: 'd', host: 'other:6432' })
  assert.equal(toTarget('postgres://u@h:5432/d?port=6432').host, 'h:6432')
  assert.equal(toTarget('postgres://u@h:5432/d?host=&user=').host, 'h:5432')
  assert.equal(toTarget('postgres://u@h/d?user=').role, 'u')
})
