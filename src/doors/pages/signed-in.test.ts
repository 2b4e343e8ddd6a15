/** Forms that are carried out once, where something fails behind their answer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fastify from 'fastify'
import { makeRunIdempotent } from '#auth/sign-in/repeated-form.ts'
import { makeMemoryWindows } from '#fast/memory-windows.ts'
import { newId, type UserId } from '#kernel/ids.ts'
import { systemClock as clock } from '#kernel/time.ts'
import type { PagesContext } from './context.ts'
import { addForm } from './signed-in.ts'

test('what fails after the answer of a form was sent is logged, and the form counts as carried out', async (t) => {
  const failures: unknown[] = []
  const runIdempotent = makeRunIdempotent({ windows: makeMemoryWindows(clock), clock })
  const visit = { user: { id: newId<UserId>() }, session: { isFresh: true } }
  const context = {
    visits: { accept: async () => visit },
    signIns: { countForm: async () => null, runIdempotent },
    onFailure: (error: unknown) => failures.push(error),
  } as unknown as PagesContext
  const app = fastify()
  t.after(() => app.close())
  app.addContentTypeParser('application/x-www-form-urlencoded', async () => {
    return new URLSearchParams({ once: 'x' })
  })
  const late = new Error('late')
  addForm(app, context, { path: '/things', isOnce: true }, async ({ reply }) => {
    await reply.redirect('/things?done=created', 303)
    throw late
  })
  const send = async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const sent = await app.inject({ method: 'POST', url: '/things', headers, payload: 'once=x' })
    return [sent.statusCode, sent.headers.location]
  }
  assert.deepEqual(await send(), [303, '/things?done=created'])
  assert.deepEqual(await send(), [303, '/things?done=repeated'])
  assert.deepEqual(failures, [late])
})
