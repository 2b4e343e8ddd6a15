import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findServer } from './server.ts'

test('the command finds the admin listener at every form of ADMIN_HOST that the service takes', async () => {
  const find = async (host: string) => {
    const own = { NODE_ENV: 'test', ADMIN_TOKEN: 'token', ADMIN_PORT: '3002', ADMIN_HOST: host }
    return (await findServer(own, '/')).url
  }
  for (const host of ['', '0.0.0.0', ' 127.0.0.1', '::ffff:127.0.0.1', '::ffff:0:0']) {
    assert.equal(await find(host), 'http://127.0.0.1:3002', host)
  }
  for (const host of ['::1', '[::1]', '::', '[::]', '::0', '0:0:0:0:0:0:0:1']) {
    assert.equal(await find(host), 'http://[::1]:3002', host)
  }
  assert.equal(await find('admin.internal'), 'http://admin.internal:3002')
})
