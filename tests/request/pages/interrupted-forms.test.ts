/**
 * A form whose sender has to sign in or to give the password first is not carried out. The pages that follow
 * say so: the sign-in, and once the page of the form. Every form of a signed-in person is in the table.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { newId } from '#kernel/ids.ts'
import type { Fields, Jar } from '#tests/support/jar.ts'
import type { ServiceUser } from '#tests/support/service.ts'
import { askForConsent, type Person, password, signIn, startPages } from './world.ts'

const world = await startPages()
after(() => world?.close())

interface Form {
  readonly fields?: Fields
  /** The page that the sign-in leads to; absent: that of the same path. */
  readonly back?: string
  /** The password must have been given within ten minutes. */
  readonly isSensitive?: boolean
}

const confirmed = { decision: 'confirm' }

/** `{id}` is the id of something that does not exist: the refusal comes before it is looked for. */
const forms: Readonly<Record<string, Form>> = {
  '/confirm-address': { back: '/' },
  '/welcome/made-up-data': { back: '/welcome' },
  '/welcome/first-key': { back: '/welcome', isSensitive: true },
  '/consent/{id}': { fields: { decision: 'allow', scope: 'mcp:read' }, isSensitive: true },
  '/connections/new': { fields: { provider: 'up', upToken: 'up:yeah:unknown' } },
  '/connections/waiting/{link}': { back: '/connections' },
  '/connections/{id}': { fields: { label: 'Holiday' } },
  '/connections/{id}/refresh': { back: '/connections' },
  '/connections/{id}/reconnect': { back: '/connections' },
  '/connections/{id}/remove': { fields: confirmed, back: '/connections' },
  '/keys': { fields: { name: 'laptop', expires: '' }, isSensitive: true },
  '/keys/{id}/revoke': { fields: confirmed, back: '/keys' },
  '/keys/{id}/rotate': { fields: confirmed, back: '/keys', isSensitive: true },
  '/webhooks': {
    fields: { url: 'https://example.test', events: 'trades.synced' },
    isSensitive: true,
  },
  '/webhooks/{id}/test': { back: '/webhooks' },
  '/webhooks/{id}/enable': { back: '/webhooks' },
  '/webhooks/{id}/disable': { back: '/webhooks' },
  '/webhooks/{id}/deliveries/{id}/replay': { back: '/webhooks' },
  '/webhooks/{id}/replay': { back: '/webhooks' },
  '/webhooks/{id}/rotate': { fields: confirmed, back: '/webhooks', isSensitive: true },
  '/webhooks/{id}/remove': { fields: confirmed, back: '/webhooks' },
  '/settings': { fields: { password, newPassword: 'staple correct battery' } },
  '/settings/sessions/end': { back: '/settings' },
  '/settings/sessions/end-others': { back: '/settings' },
  '/settings/delete': { fields: confirmed, isSensitive: true },
  '/settings/passkeys': { fields: { name: 'laptop' }, isSensitive: true },
  '/settings/passkeys/{id}/remove': { fields: confirmed, back: '/settings', isSensitive: true },
  '/settings/second-factor': { fields: { code: '123456' }, isSensitive: true },
  '/settings/second-factor/codes': { back: '/settings/second-factor', isSensitive: true },
  '/settings/second-factor/remove': { fields: confirmed, isSensitive: true },
  '/simplefin/create': { fields: { name: 'budget' }, isSensitive: true },
  '/simplefin/programs/{id}/revoke': { fields: confirmed, back: '/simplefin/create' },
  '/agents/disconnect': { fields: confirmed, back: '/agents' },
}

/** Forms that need no session. */
const ofVisitors = [
  ...[
    '/sign-in',
    '/sign-in/passkey',
    '/sign-in/code',
    '/sign-up',
    '/sign-out',
    '/invitations/{token}',
  ],
  ...['/forgot-password', '/reset-password/{token}', '/confirm-address/{token}'],
]

test('the table has every form of the documentation', () => {
  const text = readFileSync(new URL('../../../docs/accounts.md', import.meta.url), 'utf8')
  const listed = text
    .split('\n')
    .filter((line) => line.startsWith('| `') && line.includes('`POST '))
    .flatMap((line) => listPosts(line.split('|')[1] ?? ''))
  assert.deepEqual(listed.toSorted(), [...Object.keys(forms), ...ofVisitors].toSorted())
})

/** The paths of a cell such as "`GET`, `POST /a/b`, `…/c`". */
function listPosts(cell: string): readonly string[] {
  const spans = [...cell.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span)
  const [first = '', ...others] = spans.slice(spans.findIndex((span) => span.startsWith('POST ')))
  const path = first.slice('POST '.length)
  const parent = path.slice(0, path.lastIndexOf('/'))
  return [path, ...others.map((span) => span.replace('…', parent))]
}

async function prepare(path: string) {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const { hidden } = await jar.get('/settings')
  // A request for consent does not live as long as the password counts.
  world.service.clock.advance(9 * 60_000)
  if (!path.startsWith('/consent/')) {
    // Its own page says it, so there has to be one.
    const isShown = path === '/connections/{id}'
    const linked = isShown
      ? await world.service.link(person as unknown as ServiceUser, 'healthy', 'up')
      : []
    const id = () => linked[0]?.id ?? newId()
    return { person, jar, token: hidden.token ?? '', path: path.replaceAll(/\{\w+\}/g, id) }
  }
  const asked = await askForConsent(world.service, jar)
  return { person, jar, token: hidden.token ?? '', path: asked.path }
}

async function assertSaid(jar: Jar, person: Person, location: string | null, back: string) {
  assert.equal(location, `/sign-in?return=${encodeURIComponent(back)}`)
  const page = await jar.get(location ?? '')
  assert.match(page.text, /role="alert">Nothing was changed: /)
  const answer = await signIn(jar, { email: person.email, password }, location ?? '')
  assert.equal(answer.location, back)
  const shown = await jar.get(back)
  assert.match(shown.text, /role="alert">Nothing was changed, because you had to sign in first/)
  assert.doesNotMatch((await jar.get(back)).text, /Nothing was changed/)
  return page.text
}

/**
 * Its page leads on where there is no second factor, and with one the sign-in needs a code
 * (second-factor.test.ts).
 */
const exempt: readonly string[] = ['/settings/second-factor/remove']

for (const [template, { fields = {}, back, isSensitive = false }] of Object.entries(forms)) {
  if (exempt.includes(template)) continue
  test(`the pages after POST ${template} say that nothing was changed when the session has ended`, async () => {
    const { person, jar, token, path } = await prepare(template)
    const { sessions } = world.service.app.store
    for (const { id } of await sessions.list(person.id)) await sessions.delete(person.id, id)
    const { location } = await jar.post(path, { token, ...fields })
    const text = await assertSaid(jar, person, location, back ?? path)
    assert.match(text, /you are not signed in any more/)
  })
  if (!isSensitive) continue
  test(`the pages after POST ${template} say that nothing was changed ten minutes after the password`, async () => {
    const { person, jar, token, path } = await prepare(template)
    world.service.clock.advance(60_000)
    const { location } = await jar.post(path, { token, ...fields })
    const text = await assertSaid(jar, person, location, back ?? path)
    assert.match(text, /more than ten minutes ago/)
  })
}
