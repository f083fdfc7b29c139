// The receiver of a published package, as its documentation shows it; each vote is a line of output.
//
// node receivers.js PACKAGE TOKEN
"use strict";
const http = require("node:http");
const express = require("express");

const [name, token] = process.argv.slice(2);
const heard = (vote) => console.log(JSON.stringify(vote));

const SERVERS = {
  "@top-gg/sdk"() {
    const { Webhook } = require("@top-gg/sdk");
    const webhook = new Webhook(token);
    const app = express();
    app.post("/votes", webhook.listener(heard));
    return http.createServer(app);
  },
  "dblapi.js"() {
    const DBL = require("dblapi.js");
    const server = http.createServer();
    const dbl = new DBL("unused", { webhookAuth: token, webhookPath: "/votes", webhookServer: server });
    dbl.webhook.on("vote", heard);
    return server;
  },
  discordbotlist() {
    const { upvoteListener } = require("discordbotlist");
    const app = express();
    app.use(express.json());
    app.post("/votes", upvoteListener(token, heard));
    return http.createServer(app);
  },
};

const server = SERVERS[name]();
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
