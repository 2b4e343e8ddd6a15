import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultSender, parseSmtpUrl } from './smtp-url.ts'

test('a URL names server, port, sign-in and sender, with what is percent-encoded decoded', () => {
  const server = parseSmtpUrl(
    'smtp://me%40host:p%40ss%2Fw%C3%B6rd@mail.example.com:2525?from=My%20Bank%20%3Ca%40b.example%3E',
  )
  assert.equal(server?.host, 'mail.example.com')
  assert.equal(server?.port, 2525)
  assert.equal(server?.login?.user, 'me@host')
  assert.equal(server?.login?.password.reveal(), 'p@ss/wörd')
  assert.deepEqual(server?.from, { name: 'My Bank', address: 'a@b.example' })
  assert.deepEqual([server?.isSecure, server?.isPlain], [false, false])
})

test('the scheme decides port and TLS, and a server on this machine is recognised', () => {
  const submission = parseSmtpUrl('smtp://mail.example.com')
  assert.deepEqual([submission?.port, submission?.isSecure], [587, false])
  const secure = parseSmtpUrl('smtps://mail.example.com/')
  assert.deepEqual([secure?.port, secure?.isSecure, secure?.login], [465, true, null])
  for (const host of ['127.0.0.1', 'localhost', '[::1]'])
    assert.equal(parseSmtpUrl(`smtp://${host}:25`)?.isPlain, true, host)
  assert.equal(parseSmtpUrl('smtp://[::1]:25')?.host, '::1')
  assert.equal(parseSmtpUrl('smtp://10.0.0.9:25')?.isPlain, false)
})

test('a sender may be an address alone, and is a whole address in any case', () => {
  const from = (text: string) => parseSmtpUrl(`smtp://h?from=${encodeURIComponent(text)}`)?.from
  assert.deepEqual(from('a@b.example'), { name: 'Tributary', address: 'a@b.example' })
  for (const bad of [
    'nobody',
    'A <b>',
    'a@b.example, c@d.example',
    'A\r\nBcc: x <a@b.example>',
    '',
  ]) {
    assert.equal(from(bad), undefined, bad)
  }
})

test('another host is reached without TLS only where that is asked for, and then without a password', () => {
  const relay = parseSmtpUrl('smtp://relay.lan:25?tls=never&from=a@b.example')
  assert.deepEqual([relay?.isPlain, relay?.isSecure, relay?.login], [true, false, null])
  assert.equal(relay?.from?.address, 'a@b.example')
  for (const bad of [
    'smtp://user:password@relay.lan:25?tls=never',
    'smtps://relay.lan?tls=never',
    'smtp://relay.lan?tls=maybe',
    'smtp://relay.lan?tls=',
    'smtp://relay.lan?tls=never&tls=never',
  ]) {
    assert.equal(parseSmtpUrl(bad), undefined, bad)
  }
})

test('what is not such a URL is refused', () => {
  for (const bad of [
    'mail.example.com:587',
    'smtp:mail.example.com',
    'http://mail.example.com',
    'smtp://',
    'smtp://user@mail.example.com',
    'smtp://:password@mail.example.com',
    'smtp://u:%E0%A4%A@mail.example.com',
    'smtp://u:a%0D%0Ab@mail.example.com',
    'smtp://mail.example.com:0',
    'smtp://mail.example.com/inbox',
    'smtp://mail.example.com?to=x@y.example',
    'smtp://mail.example.com?from=a@b.example&from=c@d.example',
    'smtp://mail.example.com#x',
    'smtp://bad_host!',
  ])
    assert.equal(parseSmtpUrl(bad), undefined, bad)
})

test('without a sender mail comes from the host of the public origin, or from localhost where that is an address', () => {
  assert.equal(defaultSender('https://bank.example.com').address, 'no-reply@bank.example.com')
  assert.equal(defaultSender('http://127.0.0.1:3000').address, 'no-reply@localhost')
  assert.equal(defaultSender('http://[::1]:3000').address, 'no-reply@localhost')
})
