import assert from 'node:assert/strict'
import { test } from 'node:test'
import { guessCountry } from './home-country.ts'

test('the region of the language tells the country, else the zone, and American English gives way to it', () => {
  const cases = [
    ['en-NZ,en;q=0.9', null, 'NZ'],
    ['en-AU', 'America/Toronto', 'AU'],
    ['en-US,en', 'Pacific/Auckland', 'NZ'],
    ['en-US,en', 'America/Toronto', 'CA'],
    ['en-US,en', null, 'US'],
    ['zh-Hant-TW', null, 'TW'],
    ['de', 'Australia/Perth', 'AU'],
    ['de', 'Europe/Berlin', 'DE'],
    ['en-US', 'Canada/Eastern', 'CA'],
    ['en-US', 'NZ', 'NZ'],
    ['de', 'Asia/Tokyo', null],
    ['de', 'Mars/Olympus', null],
    [undefined, null, null],
    ['*', null, null],
    ['x'.repeat(10_000), null, null],
  ] as const
  for (const [language, zone, country] of cases) {
    assert.equal(guessCountry(language, zone), country, `${language} ${zone}`)
  }
})
