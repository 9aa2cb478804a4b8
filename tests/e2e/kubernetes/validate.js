// Validates the objects in FILE (a JSON array) against the schemas of Kubernetes. Prints "KIND NAME: what is wrong".
'use strict';
const fs = require('node:fs');

for (const object of JSON.parse(fs.readFileSync(process.argv[2], 'utf8'))) {
    try {
        const models = require(`kubernetes-models/${object.apiVersion}/${object.kind}`);
        new models[object.kind](object).validate();
    } catch (error) {
        console.log(`${object.kind} ${object.metadata?.name}: ${error.message}`);
    }
}
