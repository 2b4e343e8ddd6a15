/**
 * An expired link is reconnected in a real browser, through the consent page of the emulator, which gives the
 * consent and its accounts new ids: ours stay.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { password, startPages } from '#tests/request/pages/world.ts'
import { openInBrowser } from './stage.ts'

const { world, browser } = await openInBrowser(startPages)

for (const javaScriptEnabled of [true, false]) {
  test(`an expired link is reconnected with the same ids, with JavaScript ${javaScriptEnabled ? 'on' : 'off'}`, async () => {
    const { app, baseUrl, clock, sandbox, createUser, link } = world.service
    const person = await world.addPerson()
    const user = { ...(await createUser()), id: person.id }
    const rows = await link(user, 'healthy', 'fiskil')
    const row = rows.find(({ institutionId }) => institutionId === '22')
    const { consents } = sandbox.fiskil.people.healthy ?? assert.fail('nobody is healthy')
    const consent = consents.findLast(({ institutionId }) => institutionId === '22')
    assert(row && consent)
    const idsOf = async () =>
      (await app.store.accounts.listByConnection(person.id, row.id)).map(({ id }) => id).toSorted()
    const before = await idsOf()
    assert.ok(before.length > 1)
    consent.expiresAtMs = clock.now()
    clock.advance(61_000)

    await using visit = await browser.open({ javaScriptEnabled })
    const { page } = visit
    await page.goto(`${baseUrl}/sign-in`)
    await page.getByLabel('E-mail address').fill(person.email)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL(`${baseUrl}/`)
    await page.goto(`${baseUrl}/connections/${row.id}`)
    await page.getByRole('button', { name: 'Refresh' }).click()
    await page.getByText('The consent or the sign-in has expired').waitFor()
    await page.getByRole('button', { name: /^Reconnect/ }).click()
    await page.waitForURL((url) => url.origin !== baseUrl)
    await page.locator('summary').click()
    await page.getByLabel('The renewal gives a new consent').check()
    await page.getByRole('button', { name: 'Renew', exact: true }).click()
    await page.waitForURL((url) => url.origin === baseUrl)
    await page.getByText('Your consent is active').waitFor()
    assert.equal(new URL(page.url()).pathname, `/connections/${row.id}`)
    assert.deepEqual(await idsOf(), before)
    const renewed = await app.store.connections.find(row.id)
    assert.equal(renewed?.status, 'active')
    assert.notEqual(renewed.upstreamId, row.upstreamId)
    assert.ok(Number(renewed.consentExpiresAt) > clock.now())
    assert.deepEqual(visit.complaints, [])
  })
}
