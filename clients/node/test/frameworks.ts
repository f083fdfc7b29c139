// Compiles only: each receiver fits the types of its framework, and what handlers get is typed.

import http from "node:http";

import { Client as DiscordClient, ShardingManager } from "discord.js";
import { Client as ErisClient } from "eris";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import { AutoPoster } from "topgg-autoposter";
import { autoPost, Client, type Event, MemoryStore, Receiver, type Store, type Test, type Vote } from "votegate-client";
import { topgg } from "votegate-client/topgg";

const rewards = new Map<string, number>();

class OwnStore implements Store {
  async claim(id: string): Promise<boolean> {
    return id !== "";
  }
}

export const receiver = new Receiver({
  secret: process.env.WEBHOOK_SECRET, // may be missing: then the constructor says so
  store: process.env.DATABASE ? new OwnStore() : new MemoryStore({ mostIds: 1000 }),
  onVote: (vote: Vote) => rewards.set(vote.user, 1),
  onTest: async (test: Test) => console.log(test.id),
  onEvent: (event: Event) => event.type === "vote.struck" && rewards.delete(event.user ?? ""),
});

http.createServer(receiver.node);
express().post("/votes", receiver.node);
void fastify().register(receiver.fastify, { url: "/votes" });
new Koa().use(receiver.koa);
new Hono().post("/votes", (context) => receiver.fetch(context.req.raw));
export const POST: (request: Request) => Promise<Response> = receiver.fetch;

const client = new Client({ key: "vg_key", botId: "111111111111111111", baseUrl: "https://votes.example" });
for (const bot of [new DiscordClient({ intents: [] }), new ShardingManager("bot.js"), new ErisClient("Bot token")]) autoPost(bot, client);
AutoPoster("unused", {}, { sdk: topgg({ key: "vg_key", botId: "111111111111111111", baseUrl: "https://votes.example" }) });
