// Servers of the published frameworks, with a receiver at /votes.

import http from "node:http";

import { createAdaptorServer } from "@hono/node-server";
import express from "express";
import express4 from "express4";
import fastify from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import koaBodyparser from "koa-bodyparser";

function ofExpress(create, ...before) {
  return (receiver) => {
    const app = create().set("env", "test"); // or it writes each refusal of its parser to the console
    for (const middleware of before) app.use(middleware);
    app.post("/votes", receiver.node);
    return http.createServer(app);
  };
}

function ofKoa(...before) {
  return (receiver) => {
    const app = Object.assign(new Koa(), { silent: true }); // as above
    for (const middleware of before) app.use(middleware);
    app.use(receiver.koa);
    return http.createServer(app.callback());
  };
}

const keepBytes = (request, _response, bytes) => {
  request.rawBody = bytes;
};

async function ofFastify(receiver) {
  const app = fastify();
  // The app's own routes still get what the app's own parser makes of a body.
  app.addContentTypeParser("application/json", { parseAs: "string" }, (_request, text, done) => done(null, { parsed: text }));
  app.register(receiver.fastify, { url: "/votes" });
  await app.ready();
  return app.server;
}

function ofHono(...before) {
  return (receiver) => {
    const app = new Hono();
    for (const middleware of before) app.use(middleware);
    app.post("/votes", (context) => receiver.fetch(context.req.raw));
    return createAdaptorServer({ fetch: app.fetch });
  };
}

/** The receiver as it should be added. */
export const SERVERS = {
  "node:http": (receiver) => http.createServer(receiver.node),
  "Express 4": ofExpress(express4),
  "Express 4 with a parser of forms": ofExpress(express4, express4.urlencoded({ extended: true })),
  "Express 5": ofExpress(express),
  "Express 5 with a parser that keeps the bytes": ofExpress(express, express.json({ verify: keepBytes, type: () => true, strict: false })),
  "Express 5 with express.raw": ofExpress(express, express.raw({ type: () => true })),
  Fastify: ofFastify,
  Koa: ofKoa(),
  "Koa with koa-bodyparser, which keeps the bytes": ofKoa(koaBodyparser()),
  Hono: ofHono(),
  "a web-standard server": (receiver) => createAdaptorServer({ fetch: receiver.fetch }),
};

/** The receiver behind something that reads the body and keeps no bytes. */
export const PARSED_FIRST = {
  "Express 4": ofExpress(express4, express4.json()),
  "Express 5": ofExpress(express, express.json()),
  Koa: ofKoa(async (context, next) => {
    for await (const _ of context.req);
    await next();
  }),
  Hono: ofHono(async (context, next) => {
    await context.req.json();
    await next();
  }),
  "a web-standard server": (receiver) =>
    createAdaptorServer({
      fetch: async (request) => {
        await request.json();
        return receiver.fetch(request);
      },
    }),
};

/** Starts a server on a free port of this machine. */
export function listening(server) {
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}
