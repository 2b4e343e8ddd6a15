import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StoreUnavailableError } from '../failure.ts'
import { sqlState, toStoreError } from './postgres-failure.ts'

const told = (code: string) => Object.assign(new Error('told'), { code, severity: 'ERROR' })

test('what the server says of its own state is an outage', () => {
  for (const code of ['08006', '53300', '53100', '57P01', '57P03', '57014', '25006', '58030'])
    assert.ok(toStoreError(told(code)) instanceof StoreUnavailableError, code)
})

test('what the server says of our statements is not', () => {
  for (const code of ['23505', '23503', '42601', '42P01', '22P02', '40001', '40P01', '25P02']) {
    const error = told(code)
    assert.equal(toStoreError(error), error, code)
  }
})

test('a socket that fails, a name that is not found and the driver losing its line are outages', () => {
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

test('a mistake of ours stays what it is, and an outage keeps its cause', () => {
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
