/** The choice of a provider: those of the person's country first. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startPages } from './world.ts'

const world = await startPages()
after(() => world.close())

const providersOf = (text: string) =>
  [...text.matchAll(/href="\/connections\/new\?provider=(\w+)"/g)].map(([, name]) => name)

test('providers of the person’s country come first, the others stay behind “Other countries”', async () => {
  const jar = await world.enter(await world.addPerson())
  const ask = async (language: string) => {
    const { text } = await jar.get('/connections/new', { 'accept-language': language })
    const [own = '', others = ''] = text.split('<summary>Other countries</summary>')
    return [providersOf(own), providersOf(others)]
  }
  assert.deepEqual(await ask('en-NZ'), [
    ['akahu', 'snaptrade'],
    ['fiskil', 'up', 'simplefin', 'enablebanking'],
  ])
  assert.deepEqual(await ask('en-AU,en;q=0.8'), [
    ['fiskil', 'snaptrade', 'up'],
    ['akahu', 'simplefin', 'enablebanking'],
  ])
  assert.deepEqual(await ask('fr-CA'), [
    ['snaptrade', 'simplefin'],
    ['fiskil', 'akahu', 'up', 'enablebanking'],
  ])
  assert.deepEqual(await ask('de-DE'), [
    ['snaptrade', 'enablebanking'],
    ['fiskil', 'akahu', 'up', 'simplefin'],
  ])
  const all = ['fiskil', 'akahu', 'snaptrade', 'up', 'simplefin', 'enablebanking']
  assert.deepEqual(await ask('ja-JP'), [all, []])
})

test('the page of each provider has its heading as title', async () => {
  const jar = await world.enter(await world.addPerson())
  for (const provider of ['fiskil', 'akahu', 'snaptrade', 'up', 'simplefin', 'enablebanking']) {
    const { text } = await jar.get(`/connections/new?provider=${provider}`)
    const [, heading = ''] = /<h1>([^<]+)<\/h1>/.exec(text) ?? []
    assert.ok(text.includes(`<title>${heading} · Tributary</title>`), provider)
  }
})

test('a time zone tells the country where the language does not', async () => {
  const person = await world.addPerson()
  await world.service.app.store.users.setTimezone(person.id, 'Pacific/Auckland')
  const jar = await world.enter(person)
  const { text } = await jar.get('/connections/new')
  assert.equal(providersOf(text)[0], 'akahu')
})
